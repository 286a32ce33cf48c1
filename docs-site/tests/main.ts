import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { run } from 'node:test';

/**
 * Runs the site's tests against docs-site/dist. The last line is `N passed, N failed, N skipped`. Each file has a
 * separate process, server and Chromium. More files than cores run at once, because tests mostly wait. Arguments select
 * files by a part of their path. `--build` builds the site first; the type check and the tests without a built site run
 * during the build.
 */
const root = import.meta.dirname;
const builds = process.argv.includes('--build');
const chosen = process.argv.slice(2).filter((one) => one !== '--build');
const files = ['unit', 'server', 'browser']
  .flatMap((folder) => globSync(`${root}/${folder}/**/*.test.ts`))
  .filter((file) => chosen.length === 0 || chosen.some((part) => relative(root, file).includes(part)));
/** Files that take longest. They start first, so that the run ends sooner. */
const longest = ['browser/accessibility', 'browser/lighthouse', 'browser/information', 'browser/navigation'];
const rank = (file: string): number => {
  const index = longest.findIndex((part) => relative(root, file).startsWith(part));
  return index < 0 ? longest.length : index;
};
files.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
/** Whether a test file needs no built site. */
const needNoSite = (file: string) => /^(?:unit\/|server\/server\.)/.test(relative(root, file));

/** Names of the tests to run; empty for all (tests/breaks). */
const names: readonly string[] = JSON.parse(process.env['CHECK_NAMES'] || '[]');
const testNamePatterns = names.map((name) => new RegExp(`${name.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')}$`));

const tally = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];
const errorText = (error: unknown) =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

async function runAll(some: readonly string[], concurrency: number): Promise<void> {
  if (some.length === 0) return;
  const events = run({
    files: [...some],
    isolation: 'process',
    concurrency,
    ...(names.length > 0 && { testNamePatterns }),
    execArgv: ['--disable-warning=MODULE_TYPELESS_PACKAGE_JSON'],
  });
  for await (const { type, data } of events) {
    if (type === 'test:stdout' || type === 'test:stderr') process.stdout.write(data.message);
    if (type === 'test:pass' && data.details.type !== 'suite') {
      if (data.skip !== undefined) {
        tally.skipped++;
        process.stdout.write(`  skipped ${data.name}: ${data.skip}\n`);
      } else {
        tally.passed++;
        process.stdout.write(`  ok ${data.name} (${Math.round(data.details.duration_ms)} ms)\n`);
      }
    }
    if (type === 'test:fail' && data.details.type !== 'suite') {
      tally.failed++;
      const text = errorText(data.details.error.cause ?? data.details.error);
      failures.push(`✖ ${data.name}\n${text}\n`);
      process.stdout.write(`  FAILED ${data.name}\n${text}\n`);
    }
  }
}

/** Runs a command and counts it as one test. Prints its output at the end if it fails. */
async function step(name: string, command: string, args: readonly string[]): Promise<boolean> {
  const begun = Date.now();
  const child = spawn(command, args, { cwd: join(root, '../..'), stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((done, reject) => child.once('close', done).once('error', reject));
  const [out, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code === 0) {
    tally.passed++;
    process.stdout.write(`  ok ${name} (${Date.now() - begun} ms)\n`);
    return true;
  }
  tally.failed++;
  failures.push(`✖ ${name}\n${out}${errors}\n`);
  process.stdout.write(`  FAILED ${name}\n`);
  return false;
}

const cores = availableParallelism();
if (builds) {
  const [isBuilt] = await Promise.all([
    step('the site is built', 'make', ['--no-print-directory', 'site-build']),
    step('types', join(root, '../../node_modules/.bin/tsc'), ['--noEmit', '-p', 'docs-site']).then(() =>
      runAll(files.filter(needNoSite), 1),
    ),
  ]);
  if (isBuilt)
    await runAll(
      files.filter((file) => !needNoSite(file)),
      cores + 1,
    );
} else await runAll(files, cores + 1);
if (failures.length > 0) process.stdout.write(`\n${failures.join('\n')}`);
process.stdout.write(`${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped\n`);
process.exitCode = tally.failed > 0 || tally.passed === 0 ? 1 : 0;
