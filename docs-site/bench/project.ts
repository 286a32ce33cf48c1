import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
/** Folder of the copied projects; not committed. */
export const cache = join(root, '.cache/bench');

/** Copies the sources of the site and the OpenAPI documents, without build results. Returns the copy's `docs-site`. */
export function copyProject(name: string): string {
  const folder = join(cache, name);
  rmSync(folder, { recursive: true, force: true });
  const site = join(folder, 'docs-site');
  mkdirSync(site, { recursive: true });
  const built = new Set(['node_modules', 'public', '.cache', 'dist']);
  for (const entry of readdirSync(root)) {
    if (!built.has(entry) && !entry.startsWith('dist-'))
      cpSync(join(root, entry), join(site, entry), { recursive: true });
  }
  // Hard links of the files: webpack would resolve a linked folder to a path outside the project.
  execFileSync('cp', ['-al', join(root, 'node_modules'), join(site, 'node_modules')]);
  cpSync(resolve(root, '../gateway/openapi'), join(folder, 'gateway/openapi'), { recursive: true });
  return site;
}

export interface Built {
  readonly seconds: number;
  /** Maximum memory of all processes together. */
  readonly peakMiB: number;
}

/** Builds a project in the same way as `make site-build`. */
export async function build(site: string): Promise<Built> {
  const started = performance.now();
  const child = spawn('gatsby', ['build'], {
    cwd: site,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PATH: `${join(site, 'node_modules/.bin')}:${process.env['PATH']}`,
      GATSBY_TELEMETRY_DISABLED: '1',
      NODE_OPTIONS: '--disable-warning=DEP0040 --disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      output += data;
    });
  }
  let peakMiB = 0;
  const sampling = setInterval(() => {
    peakMiB = Math.max(peakMiB, memoryOfTree(child.pid ?? 0));
  }, 200);
  const [code] = await once(child, 'exit');
  clearInterval(sampling);
  if (code !== 0) throw new Error(`the build ended with ${code}:\n${output.slice(-3000)}`);
  return { seconds: (performance.now() - started) / 1000, peakMiB };
}

/** Resident memory of a process and its descendants; MiB. Shared pages count once per process. */
function memoryOfTree(pid: number): number {
  const parents = new Map<number, number>();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = read(`/proc/${entry}/stat`);
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    parents.set(Number(entry), Number(fields[1]));
  }
  const isIn = (one: number): boolean => one === pid || (parents.has(one) && isIn(parents.get(one) ?? 0));
  let sum = 0;
  for (const one of parents.keys()) if (isIn(one)) sum += residentMiB(one);
  return sum;
}

/** Current resident memory of one process; MiB. */
export function residentMiB(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1];
  return Number(kib ?? 0) / 1024;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // The process has ended.
    return '';
  }
}

/** Sends SIGTERM to a process and waits until it has ended. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
