import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { SettingsError } from './settings.ts';

/** What the build tells the server (build/dist.ts writes it as `server.json` beside the files). */
export interface Manifest {
  /** Hash of the content by path from the folder (`/docs/introduction/about/index.html`). */
  readonly etags: Readonly<Record<string, string>>;
  /** CSP hashes of the inline scripts and styles of each HTML file. */
  readonly inline: Readonly<
    Record<string, { readonly scripts: readonly string[]; readonly styles: readonly string[] }>
  >;
  /** Origin of the announcements where it is not the site's own. */
  readonly announcementsOrigin: string | null;
}

export interface Dist {
  readonly files: string;
  readonly manifest: Manifest;
}

/** Opens the built site; says what to do where there is none. */
export function openDist(dist: string): Dist {
  try {
    // The link is resolved once: a later build changes the link, not the folder that is served.
    const folder = realpathSync(dist);
    return {
      files: join(folder, 'site'),
      manifest: JSON.parse(readFileSync(join(folder, 'server.json'), 'utf8')),
    };
  } catch (error) {
    throw new SettingsError(
      `There is no built site in ${dist} (${(error as NodeJS.ErrnoException).code ?? 'server.json is damaged'}): run "make site", or set SITE_DIST.`,
    );
  }
}
