import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, delimiter, dirname, join, relative } from 'node:path';
import type { DebianPackage } from './base.ts';
import { fillCompileCache } from './compile-cache.ts';
import { billOfMaterials, type SourceVersion } from './sbom.ts';

/**
 * Kind of an image: every process of the platform; the same with the simulators for tests; that with the
 * tools for development in a cluster; or the site.
 */
export type Kind = 'platform' | 'test' | 'dev' | 'site';

export interface Staging {
  readonly kind: Kind;
  /** The project, or the sources of one of its releases. */
  readonly source: string;
  /** Folder for the image's content; must not exist. */
  readonly folder: string;
  /** The npm package's Node. */
  readonly node: string;
  readonly version: SourceVersion;
  readonly basePackages: readonly DebianPackage[];
  /** A libatomic.so.1 for a base that has none. */
  readonly libatomic?: string | undefined;
}

/** Workspaces for `make up`, simulators and trials only. */
const forTests = ['services/demo', 'services/embedded', 'services/standalone'];
const hasSimulators = (kind: Kind) => kind === 'test' || kind === 'dev';
/** Workspaces that are never in an image: hc runs on integrators' machines. */
const neverStaged = ['services/hc', 'tests'];

/** True for files of a package that run; others (tests, protos, documents) are left out. */
function runs(path: string, kind: Kind): boolean {
  if (/\.test\.ts$|(^|\/)__snapshots__\//.test(path)) return false;
  if (!hasSimulators(kind) && /(^|\/)testing\//.test(path)) return false;
  return (
    path === 'package.json' ||
    /^(src|gen)\/.+\.(ts|js|mjs|json|html|css|lua|sql|txt)$/.test(path) ||
    /^[^/]+\.ts$/.test(path) ||
    /^openapi\/[^/]+\.yaml$/.test(path)
  );
}

/** The folders of the workspaces in an image. */
export function stagedWorkspaces(source: string, kind: Kind): string[] {
  return allWorkspaces(source).filter(
    (place) => !neverStaged.includes(place) && (hasSimulators(kind) || !forTests.includes(place)),
  );
}

function allWorkspaces(source: string): string[] {
  const { workspaces } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  return (workspaces as string[])
    .flatMap((place) =>
      place.endsWith('/*')
        ? readdirSync(join(source, place.slice(0, -2))).map((name) => `${place.slice(0, -2)}/${name}`)
        : [place],
    )
    .filter((place) => existsSync(join(source, place, 'package.json')))
    .sort();
}

/**
 * Prepares the content of the image: `app` (goes to /app) and `node` (goes to /usr), with the Dockerfile.
 * Needs npm, and for the site its build. The image needs no build step: Node runs TypeScript,
 * except below node_modules, so npm's links to the project's own packages must stay links.
 */
export async function stage(staging: Staging): Promise<void> {
  const { folder, kind } = staging;
  if (existsSync(folder)) throw new Error(`${folder} exists; an image is staged in a new folder.`);
  mkdirSync(join(folder, 'app'), { recursive: true });
  if (kind === 'site') stageSite(staging);
  else stagePlatform(staging);
  stageNode(staging);
  if (kind === 'dev') stageSync(join(folder, 'node/local'));
  const own = import.meta.dirname;
  const app = join(folder, 'app');
  copyFileSync(join(own, kind === 'site' ? 'Dockerfile.site' : 'Dockerfile'), join(folder, 'Dockerfile'));
  const bill = billOfMaterials({
    name: imageNames[kind],
    ...{ app, nodeFile: join(folder, 'node/local/bin/node') },
    version: staging.version,
    basePackages: staging.basePackages,
    libatomic: staging.libatomic,
  });
  writeFileSync(join(app, 'sbom.cdx.json'), bill);
  removeNpmsNotes(app);
  if (kind !== 'site')
    await fillCompileCache(app, join(folder, 'node/local/bin/node'), stagedWorkspaces(staging.source, kind));
}

/** Names of the images, without a tag. */
export const imageNames: Readonly<Record<Kind, string>> = {
  platform: 'headset-cloud',
  test: 'headset-cloud-test',
  dev: 'headset-cloud-dev',
  site: 'headset-cloud-site',
};

function stagePlatform({ source, folder, kind }: Staging): void {
  const app = join(folder, 'app');
  const places = stagedWorkspaces(source, kind);
  installPackages(source, app, places);
  for (const place of places) copyRunning(join(source, place), join(app, place), kind);
}

/**
 * Installs the lock file's production packages for the chosen workspaces. npm requires the package.json of all
 * workspaces. Install scripts do not run, so the lock file's hashes cover everything in an image.
 */
function installPackages(source: string, app: string, places: readonly string[]): void {
  for (const name of ['package-lock.json', '.npmrc']) {
    if (existsSync(join(source, name))) copyFileSync(join(source, name), join(app, name));
  }
  // Only development packages have overrides. With overrides, npm 11 fails to omit workspaces that others refer to.
  const { overrides: _, ...manifest } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  writeFileSync(join(app, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  const all = allWorkspaces(source);
  for (const place of all) {
    mkdirSync(join(app, place), { recursive: true });
    copyFileSync(join(source, place, 'package.json'), join(app, place, 'package.json'));
  }
  npmCi(app, ['--omit=dev', '--ignore-scripts', ...places.map((place) => `--workspace=${place}`)]);
  for (const place of all) {
    if (!places.includes(place)) rmSync(join(app, place), { recursive: true, force: true });
  }
}

/** Runs npm in the folder, with the settings of the machine's npm, without those of a calling npm. */
function npmCi(cwd: string, args: readonly string[]): void {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
  // npm reads settings relative to its Node: use the machine's Node, not the project's.
  env['PATH'] = (env['PATH'] ?? '')
    .split(delimiter)
    .filter((place) => !place.endsWith(join('node_modules', '.bin')))
    .join(delimiter);
  // With the machine's Node npm warns about packages that require the project's Node.
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  try {
    execFileSync('npm', ['ci', ...args, ...quiet], { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    const { code, stderr } = error as NodeJS.ErrnoException & { stderr?: Buffer };
    if (code === 'ENOENT') throw new Error('npm is missing: install Node.js 20 or newer (it brings npm).');
    throw new Error(`npm ci for the image failed:\n${stderr}`);
  }
}

function copyRunning(from: string, to: string, kind: Kind): void {
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    const path = relative(from, file);
    if (!entry.isFile() || path.startsWith('node_modules/') || !runs(path, kind)) continue;
    mkdirSync(dirname(join(to, path)), { recursive: true });
    copyFileSync(file, join(to, path));
  }
}

function stageSite({ source, folder }: Staging): void {
  const built = join(source, 'docs-site/dist');
  if (!existsSync(join(built, 'server.mjs')))
    throw new Error('The site is not built: run `make site-build` first.');
  // `dist` is a link to the folder of one build.
  cpSync(realpathSync(built), join(folder, 'app/docs-site/dist'), { recursive: true });
}

function stageNode({ folder, node, libatomic }: Staging): void {
  mkdirSync(join(folder, 'node/local/bin'), { recursive: true });
  placeLargeFile(realpathSync(node), join(folder, 'node/local/bin/node'));
  if (!libatomic) return;
  mkdirSync(join(folder, 'node/lib'), { recursive: true });
  copyFileSync(realpathSync(libatomic), join(folder, 'node/lib', basename(libatomic)));
}

/**
 * `tar` and `rm`, with which Skaffold updates sources in pods: bases have neither. They are JavaScript, because loading
 * the type stripper takes longer than their work, and every change runs them in every pod.
 */
function stageSync(local: string): void {
  const place = join(local, 'lib/sync');
  mkdirSync(join(place, 'sync'), { recursive: true });
  writeFileSync(join(place, 'package.json'), '{"type": "module"}\n');
  for (const name of ['tar', 'sync/tar', 'sync/rm']) {
    const source = readFileSync(join(import.meta.dirname, `${name}.ts`), 'utf8');
    const script = stripTypeScriptTypes(source).replaceAll(".ts';", ".js';");
    writeFileSync(join(place, `${name}.js`), script, { mode: 0o755 });
  }
  for (const program of ['tar', 'rm'])
    symlinkSync(`../lib/sync/sync/${program}.js`, join(local, 'bin', program));
}

/** Links the file if both paths are on one disk: Node has 150 MB. */
function placeLargeFile(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

/** Removes npm's records and command links, which are not used and contain npm's addresses. */
function removeNpmsNotes(app: string): void {
  for (const name of ['package-lock.json', '.npmrc', 'node_modules/.package-lock.json'])
    rmSync(join(app, name), { force: true });
  if (!existsSync(join(app, 'node_modules'))) return;
  for (const entry of readdirSync(join(app, 'node_modules'), { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory() && entry.name === '.bin')
      rmSync(join(entry.parentPath, entry.name), { recursive: true });
  }
}
