import { spawn } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { parse } from '@babel/parser';

/**
 * Shows that no unit or server test is empty: each function of the site is emptied in turn in a copy of the sources, and
 * each test must fail under at least one of these mutants. Ends with the tests that never failed.
 * Environment: `MUTANTS` (default: all) bounds how many are tried.
 */
const root = resolve(import.meta.dirname, '../..');
const copy = mkdtempSync(join(tmpdir(), 'site-mutants-'));
const site = join(copy, 'docs-site');
const left = ['node_modules', 'dist', 'public', '.cache'].map((name) => join(root, name));
cpSync(root, site, { recursive: true, filter: (one) => !left.some((path) => one.startsWith(path)) });
for (const folder of ['gateway', 'services', 'proto', 'node_modules']) {
  symlinkSync(resolve(root, '..', folder), join(copy, folder));
}
for (const folder of ['node_modules', 'dist']) symlinkSync(join(root, folder), join(site, folder));

interface Mutant {
  readonly file: string;
  readonly from: number;
  readonly to: number;
}

/** The bodies of all functions of a file, those inside others included. */
function bodiesOf(file: string): Mutant[] {
  const source = readFileSync(join(site, file), 'utf8');
  const found: Mutant[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type = '', body } = node as { type?: string; body?: { start: number; end: number } };
    if (/^(?:Arrow)?Function|^ObjectMethod$|^ClassMethod$/.test(type) && body)
      found.push({ file, from: body.start, to: body.end });
    Object.values(node).forEach(visit);
  };
  visit(
    parse(source, {
      sourceType: 'module',
      plugins: ['typescript', ...(file.endsWith('x') ? (['jsx'] as const) : [])],
    }).program,
  );
  return found;
}

async function run(names: readonly string[]): Promise<{ passed: string[]; failed: string[] }> {
  const args = ['--disable-warning=MODULE_TYPELESS_PACKAGE_JSON', 'tests/main.ts', 'unit/', 'server/server'];
  const child = spawn(process.execPath, args, {
    cwd: site,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, CHECK_NAMES: JSON.stringify(names) },
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), 180_000);
  const lines = (await text(child.stdout)).split('\n');
  clearTimeout(timer);
  const matching = (pattern: RegExp) => lines.flatMap((line) => pattern.exec(line)?.[1] ?? []);
  return { passed: matching(/^ {2}ok (.*) \(\d+ ms\)$/), failed: matching(/^ {2}FAILED (.*)$/) };
}

/** Always the same order, with neighbours far from each other. */
function shuffled<T>(all: readonly T[]): T[] {
  let state = 7;
  return all
    .map((one) => {
      state = (state * 48_271) % 2_147_483_647;
      return [state, one] as const;
    })
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one);
}

const whole = await run([]);
process.stdout.write(`${whole.passed.length} tests pass without a mutant, ${whole.failed.length} fail\n`);
if (whole.failed.length > 0) throw new Error(`These fail without a mutant:\n${whole.failed.join('\n')}`);

const files = globSync('{build,server,src}/**/*.{ts,tsx}', { cwd: site }).filter(
  (file) => !file.endsWith('.d.ts'),
);
const mutants = shuffled(files.flatMap(bodiesOf)).slice(
  0,
  Number(process.env['MUTANTS'] || Number.MAX_SAFE_INTEGER),
);
let unseen = [...new Set(whole.passed)];
let tried = 0;
for (const { file, from, to } of mutants) {
  if (unseen.length === 0) break;
  const path = join(site, file);
  const source = readFileSync(path, 'utf8');
  const body = source.slice(from, to);
  writeFileSync(
    path,
    source.slice(0, from) + (body.startsWith('{') ? '{}' : '(undefined as never)') + source.slice(to),
  );
  const { failed } = await run(unseen);
  writeFileSync(path, source);
  tried++;
  const found = new Set(failed);
  const before = unseen.length;
  unseen = unseen.filter((name) => !found.has(name));
  if (unseen.length < before)
    process.stdout.write(
      `  ${file}:${source.slice(0, from).split('\n').length}: ${before - unseen.length} of ${before} fail\n`,
    );
}
rmSync(copy, { recursive: true, force: true });
for (const name of unseen) process.stdout.write(`  NEVER FAILED ${name}\n`);
process.stdout.write(`${whole.passed.length} tests, ${tried} mutants, ${unseen.length} never seen to fail\n`);
process.exitCode = unseen.length > 0 ? 1 : 0;
