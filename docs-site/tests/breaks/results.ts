import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';

const root = resolve(import.meta.dirname, '../..');
const kept = join(root, 'node_modules/.cache/docs-site');

/** Minutes after which a run ends with a whole piece; the next run goes on there. Without it a run goes to the end. */
const minutes = Number(process.env['MINUTES'] || Number.POSITIVE_INFINITY);
const begun = Date.now();

export const isTimeOver = (): boolean => Date.now() - begun > minutes * 60_000;

/** A hash of these files' content: results hold for nothing else. */
export function hashOf(patterns: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of patterns.flatMap((one) => globSync(one, { cwd: root })).sort()) {
    const path = join(root, file);
    if (statSync(path).isFile()) hash.update(`${file}\0`).update(readFileSync(path));
  }
  return hash.digest('hex');
}

/** Results of earlier runs over the same files, by piece; what is put in is on the disk at once. */
export function keptResults<T>(name: string, patterns: readonly string[]) {
  const path = join(kept, `${name}.json`);
  const hash = hashOf(patterns);
  let pieces: Record<string, T> = {};
  try {
    const found = JSON.parse(readFileSync(path, 'utf8')) as { hash: string; pieces: Record<string, T> };
    if (found.hash === hash) pieces = found.pieces;
  } catch {
    // The first run.
  }
  return {
    get: (piece: string): T | undefined => pieces[piece],
    put(piece: string, result: T): void {
      pieces[piece] = result;
      mkdirSync(kept, { recursive: true });
      writeFileSync(path, JSON.stringify({ hash, pieces }));
    },
  };
}

export interface Outcome {
  readonly skipped: readonly string[];
  readonly passed: readonly string[];
  readonly failed: readonly string[];
}

const endGroup = ({ pid }: ChildProcess): void => {
  try {
    if (pid) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
};

/**
 * Runs tests/main.ts over files and, where names are given, these tests of them alone; past the time all is ended. A
 * page that did not open in time (`slow`) shows a busy machine, not a check that sees something.
 */
export async function runTests(
  site: string,
  files: readonly string[],
  names: readonly string[],
  { env = {}, timeoutMs }: { readonly env?: Record<string, string>; readonly timeoutMs: number },
): Promise<Outcome & { readonly slow: readonly string[]; readonly output: string }> {
  const args = ['--disable-warning=MODULE_TYPELESS_PACKAGE_JSON', join(site, 'tests/main.ts'), ...files];
  const child = spawn(process.execPath, args, {
    cwd: site,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, CHECK_NAMES: JSON.stringify(names), ...env },
  });
  const end = () => endGroup(child);
  process.once('exit', end);
  const timer = setTimeout(end, timeoutMs);
  const [output] = await Promise.all([text(child.stdout), text(child.stderr)]);
  clearTimeout(timer);
  process.removeListener('exit', end);
  // A line for each test, below it the error of one that failed.
  const told = output.split(/^(?= {2}(?:ok|FAILED|skipped) )/m);
  const matching = (pattern: RegExp) => [...new Set(told.flatMap((one) => pattern.exec(one)?.[1] ?? []))];
  return {
    skipped: matching(/^ {2}skipped (.*): only listed$/m),
    passed: matching(/^ {2}ok (.*) \(\d+ ms\)$/m),
    failed: matching(/^ {2}FAILED (.*)$(?!\n.*page\.goto: Timeout)/m),
    slow: matching(/^ {2}FAILED (.*)\n.*page\.goto: Timeout/),
    output,
  };
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
