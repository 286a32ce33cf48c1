import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative } from 'node:path';
import { run } from 'node:test';

/**
 * Runs the site's tests against docs-site/dist and ends with `N passed, N failed, N skipped`. Each file has
 * a process, a server and a Chromium of its own, and as many run at once as there are cores: much of their time is
 * waiting. Arguments choose files by a part of their path.
 */
const root = import.meta.dirname;
const chosen = process.argv.slice(2);
const files = ['unit', 'server', 'browser']
  .flatMap((folder) => globSync(`${root}/${folder}/**/*.test.ts`))
  .filter((file) => chosen.length === 0 || chosen.some((part) => relative(root, file).includes(part)))
  .sort();

/** Names of the only tests to run (tests/breaks). */
const names: readonly string[] = JSON.parse(process.env['CHECK_NAMES'] || '[]');
const testNamePatterns = names.map((name) => new RegExp(`${name.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')}$`));

const tally = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];
const errorText = (error: unknown) =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

const events = run({
  files,
  isolation: 'process',
  concurrency: availableParallelism(),
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
if (failures.length > 0) process.stdout.write(`\n${failures.join('\n')}`);
process.stdout.write(`${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped\n`);
process.exitCode = tally.failed > 0 || tally.passed === 0 ? 1 : 0;
