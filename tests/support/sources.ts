import { execFileSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';

const lockFile = 'package-lock.json';
const own = '@headset-cloud';

/**
 * Copies the sources of a commit into a separate folder in `.cache/release`, ready to run. Uses the current packages if
 * the lock file is equal, otherwise the packages of the commit's lock file.
 */
export function sourcesOf(commit: string, project = root): string {
  const folder = treeOf(commit, project);
  if (same(join(project, lockFile), join(folder, lockFile))) linkPackages(project, folder);
  else installPackages(folder);
  return folder;
}

/** Like `sourcesOf`, without packages. */
export function treeOf(commit: string, project = root): string {
  const folder = join(project, '.cache', 'release', commit);
  if (!existsSync(folder)) extract(commit, project, folder);
  return folder;
}

/** Creates a temporary folder and renames it, so that an interruption leaves no partial folder. */
function extract(commit: string, project: string, folder: string): void {
  mkdirSync(dirname(folder), { recursive: true });
  const fresh = mkdtempSync(join(dirname(folder), 'new-'));
  // A separate index keeps the project's work tree unchanged.
  const env = { ...process.env, GIT_INDEX_FILE: join(fresh, 'index') };
  const git = (...args: string[]) => execFileSync('git', args, { cwd: project, env, stdio: 'pipe' });
  try {
    git('read-tree', commit);
    git('checkout-index', '--all', `--prefix=${join(fresh, 'tree')}/`);
    renameSync(join(fresh, 'tree'), folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Links each installed package. Links of the project's own packages point into `folder`. */
export function linkPackages(project: string, folder: string): void {
  for (const place of [...workspaces(folder), '.']) {
    const [from, to] = [join(project, place, 'node_modules'), join(folder, place, 'node_modules')];
    rmSync(to, { recursive: true, force: true });
    if (!existsSync(from)) continue;
    mkdirSync(join(to, own), { recursive: true });
    for (const name of readdirSync(from)) {
      if (name !== own && name !== '.installed') symlinkSync(join(from, name), join(to, name));
    }
    if (!existsSync(join(from, own))) continue;
    // These links are relative.
    for (const name of readdirSync(join(from, own))) {
      symlinkSync(readlinkSync(join(from, own, name)), join(to, own, name));
    }
  }
}

function installPackages(folder: string): void {
  const mark = join(folder, 'node_modules', '.installed');
  if (existsSync(mark)) return;
  rmSync(join(folder, 'node_modules'), { recursive: true, force: true });
  // Remove variables that npm has set for this project. Use the machine's Node.js, because npm reads the machine's
  // settings from a folder next to its Node.js.
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('npm_')));
  env['PATH'] = (env['PATH'] ?? '')
    .split(delimiter)
    .filter((part) => part !== join(root, 'node_modules', '.bin'))
    .join(delimiter);
  execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    ...{ cwd: folder, env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  mkdirSync(dirname(mark), { recursive: true });
  writeFileSync(mark, '');
}

function workspaces(folder: string): string[] {
  const services = globSync('services/{*,kit/*}/package.json', { cwd: folder }).map(dirname);
  return ['proto', 'gateway', 'tests', ...services];
}

function same(a: string, b: string): boolean {
  return readFileSync(a).equals(readFileSync(b));
}
