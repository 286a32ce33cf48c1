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
/** Of Gatsby's scripts, what no reader asks for. */
const internal = /^(?:webpack\.stats\.json|chunk-map\.json)$|\.(?:LICENSE\.txt|map)$/;

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

export const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => `/${relative(folder, join(one.parentPath, one.name))}`);

/** What Gatsby wrote in this build: `routes` are its pages, `scripts` the files of its bundler. */
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
  /** Gatsby's output folder; it holds files of earlier builds as well. */
  readonly folder: string;
  /** The files of this build, as paths from the folder. */
  readonly files: readonly string[];
  /** The one inline script of the site itself. */
  readonly headScript: string;
  /** What pages were made of, by route. */
  readonly sources: ReadonlyMap<string, Source>;
}

/** On one screen: the first problems. */
const shownProblems = 20;

/** Checks what was built; throws with every problem on a line of its own. */
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
  const refused = [...pages].flatMap(([file, facts]) =>
    facts.refused.map((one) => `${pageOf(file)}: ${one}`),
  );
  const problems = [...refused, ...links];
  if (problems.length > 0) {
    const shown = problems.slice(0, shownProblems);
    if (problems.length > shown.length) shown.push(`… and ${problems.length - shown.length} more`);
    throw new Error(shown.join('\n'));
  }
  return pages;
}

/**
 * Makes `dist` from the files of this build, with their compressed copies and what the server must know of them. `dist`
 * is a link that is changed last, so a build that fails leaves the last good one.
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

/** The server as one file beside its site: it needs nothing but Node, and Node need not strip its types (ADR 0028). */
async function bundleServer(outfile: string): Promise<void> {
  await build({
    entryPoints: [resolve(import.meta.dirname, '../server/main.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    // Packages in CommonJS ask for Node's own modules by require.
    banner: {
      js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);",
    },
    logLevel: 'silent',
  });
}

/** The build before this one stays: a server that starts at this moment may be reading it. */
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
