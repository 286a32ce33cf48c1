import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Manifest } from '../../server/manifest.ts';
import { dist } from '../support/site.ts';
import { type Break, breaks } from './breaks.ts';
import { instrument, type Mutant } from './instrument.ts';
import { textMutants } from './text-mutants.ts';

/**
 * Mutation tests: runs the checks in Chromium under seeded breaks of the built site, and the unit and server tests
 * under mutants of the sources. Reports the checks that never fail. Arguments select test files by a part of their
 * path. MUTANTS: maximum number of mutants for each test file.
 */
const chosen = process.argv.slice(2);
const maxMutants = Number(process.env['MUTANTS'] || 200);
const root = resolve(import.meta.dirname, '../..');
const work = mkdtempSync(join(tmpdir(), 'site-breaks-'));
process.once('exit', () => rmSync(work, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

interface Outcome {
  readonly passed: readonly string[];
  /** Failed by an assertion or an exception, without crashes and timeouts of page loads. */
  readonly failed: readonly string[];
  readonly output: string;
}

/** Runs the checks of a file with these names, or all checks if `names` is empty. Kills them after `timeoutMs`. */
async function runChecks(
  site: string,
  file: string,
  names: readonly string[],
  env: Record<string, string>,
  timeoutMs: number,
): Promise<Outcome> {
  const args = ['--disable-warning=MODULE_TYPELESS_PACKAGE_JSON', join(site, 'tests/main.ts'), file];
  const child = spawn(process.execPath, args, {
    cwd: site,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, CHECK_NAMES: JSON.stringify(names), ...env },
  });
  const end = () => {
    try {
      if (child.pid) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The processes have already ended.
    }
  };
  process.once('exit', end);
  const timer = setTimeout(end, timeoutMs);
  const output = await text(child.stdout);
  clearTimeout(timer);
  process.removeListener('exit', end);
  // The output has one line per check, followed by the error if the check failed.
  const parts = output.split(/^(?= {2}(?:ok|FAILED|skipped) |✖ )/m);
  const matching = (pattern: RegExp) => [...new Set(parts.flatMap((one) => pattern.exec(one)?.[1] ?? []))];
  return {
    passed: matching(/^ {2}ok (.*) \(\d+ ms\)$/m),
    // Ignores timeouts of page loads, which a busy machine causes.
    failed: matching(
      /^ {2}FAILED (.*)$(?!\n(?:.*page\.goto: Timeout|(?:Type|Reference|Range|Syntax)Error))/m,
    ),
    output,
  };
}

/** Runs a file without a break. Returns the names of its checks. */
async function namesOf(site: string, file: string, env: Record<string, string>): Promise<readonly string[]> {
  const { passed, output } = await runChecks(site, file, [], env, 1_200_000);
  if (passed.length === 0 || output.includes('\n  FAILED '))
    throw new Error(`${file}: checks fail without a break:\n${output}`);
  return passed;
}

/** Copies the built site with the changes of the break, and compresses the changed files again. */
function brokenSite({ change, anyInline }: Break): string {
  const folder = mkdtempSync(join(work, 'site-'));
  cpSync(realpathSync(dist), folder, { recursive: true });
  const path = join(folder, 'server.json');
  const manifest: Manifest = JSON.parse(readFileSync(path, 'utf8'));
  // The CSP must allow inline styles that the break has changed.
  const inline = Object.entries(manifest.inline).map(([file, { scripts }]) => [
    file,
    { scripts: anyInline ? ["'unsafe-inline'"] : scripts, styles: ["'unsafe-inline'"] },
  ]);
  writeFileSync(path, JSON.stringify({ ...manifest, inline: Object.fromEntries(inline) }));
  for (const file of Object.keys(manifest.etags)) {
    if (!change || /\.(?:png|jpg|webp|ico|woff2|br|gz)$/.test(file)) continue;
    const page = join(folder, 'site', file);
    const changed = change(file, readFileSync(page, 'utf8'));
    if (changed === undefined) continue;
    writeFileSync(page, changed);
    const params = { [constants.BROTLI_PARAM_QUALITY]: 4 };
    writeFileSync(`${page}.br`, brotliCompressSync(changed, { params }));
    writeFileSync(`${page}.gz`, gzipSync(changed));
  }
  return folder;
}

/** Returns the checks of a file in Chromium that pass under each break. */
async function tryBreaks(file: string): Promise<readonly string[]> {
  let open = await namesOf(root, file, {});
  const patience = { CHECK_TIMEOUT_MS: '4000' };
  for (const one of breaks) {
    if (open.length === 0) break;
    const folder = brokenSite(one);
    const env = { ...patience, SITE_DIST: folder, CHECK_BREAK: JSON.stringify(one) };
    const { failed } = await runChecks(root, file, open, env, 600_000);
    // Ignores checks that also fail without the break, on a busy machine.
    const control = failed.length > 0 ? await runChecks(root, file, failed, patience, 600_000) : undefined;
    open = open.filter((name) => !failed.includes(name) || !control?.passed.includes(name));
    rmSync(folder, { recursive: true });
  }
  return open;
}

/** Copies the sources and adds a switch for each mutant. */
function instrumentedCopy(): { readonly site: string; readonly mutants: readonly Mutant[] } {
  const copy = join(work, 'copy');
  const site = join(copy, 'docs-site');
  const left = ['node_modules', 'dist', 'public', '.cache'].map((name) => join(root, name));
  const filter = (path: string) => !left.includes(path) && !/\/dist-[^/]*$/.test(path);
  cpSync(root, site, { recursive: true, filter });
  cpSync(realpathSync(dist), join(site, 'dist'), { recursive: true });
  for (const folder of ['gateway', 'services', 'proto', 'node_modules'])
    symlinkSync(resolve(root, '..', folder), join(copy, folder));
  symlinkSync(join(root, 'node_modules'), join(site, 'node_modules'));
  const mutants: Mutant[] = [];
  for (const file of globSync('{build,server,src}/**/*.{ts,tsx}', { cwd: site }).sort()) {
    if (file.endsWith('.d.ts')) continue;
    const path = join(site, file);
    writeFileSync(path, instrument(file, readFileSync(path, 'utf8'), mutants));
  }
  return { site, mutants };
}

/** Returns the tests of a file that pass under each mutant. */
async function tryMutants({ site, mutants }: ReturnType<typeof instrumentedCopy>, file: string) {
  const hits = join(mkdtempSync(join(work, 'hits-')), 'hits');
  const switches = `--import=${pathToFileURL(join(import.meta.dirname, 'switches.ts'))}`;
  const env = { NODE_OPTIONS: switches, MUTANT_HITS: hits };
  const beganMs = Date.now();
  let open = await namesOf(site, file, env);
  // Limits the time, because a mutant may loop forever.
  const timeoutMs = 20_000 + 3 * (Date.now() - beganMs);
  const tryOne = async (more: Record<string, string>) => {
    const { failed } = await runChecks(site, file, open, { ...env, ...more }, timeoutMs);
    open = open.filter((name) => !failed.includes(name));
  };
  for (const one of textMutants.filter(({ reader }) => reader === file)) {
    const path = join(site, one.file);
    const before = readFileSync(path, 'utf8');
    writeFileSync(path, one.change(before));
    await tryOne({});
    writeFileSync(path, before);
  }
  const passed = existsSync(hits) ? new Set(readFileSync(hits, 'utf8').split('\n').filter(Boolean)) : [];
  // Selects mutants from all parts of the sources.
  const ids = [...passed].map(Number).sort((a, b) => ((a * 7919) % 1009) - ((b * 7919) % 1009));
  for (const id of ids.filter((id) => mutants[id]).slice(0, maxMutants)) {
    if (open.length === 0) break;
    await tryOne({ MUTANT_ON: String(id) });
  }
  return open;
}

const files = globSync('tests/{unit,server,browser}/*.test.ts', { cwd: root })
  .map((file) => file.slice('tests/'.length))
  .filter((file) => chosen.length === 0 || chosen.some((part) => file.includes(part)))
  .sort();
let copy: ReturnType<typeof instrumentedCopy> | undefined;
let left = 0;
for (const file of files) {
  copy ??= file.startsWith('browser/') ? undefined : instrumentedCopy();
  const never = copy && !file.startsWith('browser/') ? await tryMutants(copy, file) : await tryBreaks(file);
  left += never.length;
  process.stdout.write(`  ${file}: ${never.length} checks never failed\n`);
  for (const name of never) process.stdout.write(`  NEVER FAILED ${file}: ${name}\n`);
}
process.stdout.write(`${files.length} files, ${left} checks never failed\n`);
process.exitCode = left > 0 ? 1 : 0;
