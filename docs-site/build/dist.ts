import { createHash } from 'node:crypto';
import {
  cpSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'esbuild';
import type { Manifest } from '../server/manifest.ts';
import { checkLinks, lineOfAddress, pageOf, type Source } from './check-links.ts';
import { type HtmlFacts, readHtml } from './html.ts';
import type { Settings } from './settings.ts';

const compressible = /\.(?:html|js|css|json|md|txt|svg|xml|yaml|webmanifest)$/;
/** Files of Gatsby's bundler that browsers never request. */
const internal = /^(?:webpack\.stats\.json|chunk-map\.json)$|\.(?:LICENSE\.txt|map)$/;

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

export const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => `/${relative(folder, join(one.parentPath, one.name))}`);

/** Files that Gatsby wrote in this build. `routes`: paths of its pages. `scripts`: files of its bundler. */
export function gatsbyFiles(
  routes: readonly string[],
  scripts: readonly string[],
  staticFolder: string,
): string[] {
  return [
    ...routes.flatMap((route) => [
      route.endsWith('.html') ? route : join(route, 'index.html'),
      `/page-data/${route === '/' ? 'index' : route.slice(1)}/page-data.json`,
    ]),
    '/page-data/app-data.json',
    ...scripts.filter((name) => !internal.test(name)).map((name) => `/${name}`),
    ...filesIn(staticFolder),
  ];
}

export interface Built {
  /** Gatsby's output folder. It also contains files of earlier builds. */
  readonly folder: string;
  /** Files of this build, as paths relative to the folder. */
  readonly files: readonly string[];
  /** The site's only inline script (src/theme/headScript.ts). */
  readonly headScript: string;
  /** Sources of the pages, by route. */
  readonly sources: ReadonlyMap<string, Source>;
}

/** Maximum number of problems in an error message, so that it fits on one screen. */
const shownProblems = 20;

/** Checks the built pages. Throws an error with one line per problem. */
function inspect({ folder, files, headScript, sources }: Built, siteUrl: string): Map<string, HtmlFacts> {
  const pages = new Map(
    files
      .filter((file) => file.endsWith('.html'))
      .map((file) => [file, readHtml(readFileSync(join(folder, file), 'utf8'), headScript)]),
  );
  const links = checkLinks(new Set(files), pages, siteUrl).map(({ page, target, reason }) => {
    const source = sources.get(page);
    const line = source && lineOfAddress(source, target);
    const place = source && line ? `${source.file}:${line}: ` : '';
    return `${place}${page} → ${target}: ${reason}`;
  });
  const violations = [...pages].flatMap(([file, facts]) =>
    facts.violations.map((one) => `${pageOf(file)}: ${one}`),
  );
  const problems = [...violations, ...links];
  if (problems.length > 0) {
    const shown = problems.slice(0, shownProblems);
    if (problems.length > shown.length) shown.push(`… and ${problems.length - shown.length} more`);
    throw new Error(shown.join('\n'));
  }
  return pages;
}

/**
 * Creates `dist` from the files of this build, with their compressed copies and the server's manifest. `dist` is a
 * symbolic link that changes last: if a build fails, the last successful build stays.
 */
export async function makeDist(built: Built, dist: string, settings: Settings): Promise<void> {
  const pages = inspect(built, settings.siteUrl);
  const { folder } = built;
  const files = [...new Set(built.files)].sort();
  const made = `${dist}-${Date.now().toString(36)}`;
  const site = join(made, 'site');
  try {
    const etags: Record<string, string> = {};
    for (const file of files) {
      cpSync(join(folder, file), join(site, file), { recursive: true });
      etags[file] = createHash('sha256')
        .update(readFileSync(join(site, file)))
        .digest('hex')
        .slice(0, 16);
    }
    await compress(site, files);
    const inline = Object.fromEntries(
      [...pages].map(([file, { scripts, styles }]) => [file, { scripts, styles }]),
    );
    const announcementsOrigin = /^https?:/.test(settings.announcementsUrl)
      ? new URL(settings.announcementsUrl).origin
      : null;
    const manifest: Manifest = { etags, inline, announcementsOrigin };
    writeFileSync(join(made, 'server.json'), JSON.stringify(manifest));
    await bundleServer(join(made, 'server.mjs'));
    switchTo(made, dist);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    throw error;
  }
}

async function compress(site: string, files: readonly string[]): Promise<void> {
  const queue = files.filter((file) => compressible.test(file));
  const worker = async () => {
    for (let file = queue.pop(); file; file = queue.pop()) {
      const path = join(site, file);
      const content = readFileSync(path);
      if (content.length < 512) continue;
      const [br, gz] = await Promise.all([
        brotli(content, {
          params: {
            [constants.BROTLI_PARAM_QUALITY]: content.length > 200_000 ? 9 : 11,
            [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
          },
        }),
        zip(content, { level: 9 }),
      ]);
      writeFileSync(`${path}.br`, br);
      writeFileSync(`${path}.gz`, gz);
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
}

/** Bundles the server into one JavaScript file, which needs only Node (ADR 0028). */
async function bundleServer(outfile: string): Promise<void> {
  await build({
    entryPoints: [resolve(import.meta.dirname, '../server/main.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    // CommonJS packages load Node's built-in modules with require.
    banner: {
      js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);",
    },
    logLevel: 'silent',
  });
}

/** Switches the link to the new build and deletes old builds. Keeps the previous build: a server may be reading it. */
function switchTo(made: string, dist: string): void {
  const parent = join(dist, '..');
  let before: string | undefined;
  try {
    before = readlinkSync(dist);
  } catch {
    rmSync(dist, { recursive: true, force: true });
  }
  rmSync(`${dist}.next`, { force: true });
  symlinkSync(basename(made), `${dist}.next`);
  renameSync(`${dist}.next`, dist);
  const own = new RegExp(`^${basename(dist)}-[0-9a-z]+$`);
  for (const name of readdirSync(parent)) {
    if (own.test(name) && name !== basename(made) && name !== before)
      rmSync(join(parent, name), { recursive: true, force: true });
  }
}
