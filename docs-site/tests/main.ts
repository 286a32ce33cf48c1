import { globSync } from 'node:fs';
import { relative } from 'node:path';
import { run } from 'node:test';

/**
 * Runs the site's tests against docs-site/dist and ends with `N passed, N failed, N skipped`. All files share one
 * process, so that there is one Chromium. Arguments choose files by a part of their path.
 */
const root = import.meta.dirname;
const chosen = process.argv.slice(2);
const files = ['unit', 'server', 'browser']
  .flatMap((folder) => globSync(`${root}/${folder}/**/*.test.ts`))
  .filter((file) => chosen.length === 0 || chosen.some((part) => relative(root, file).includes(part)))
  .sort();

const tally = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];
const events = run({ files, isolation: 'none', concurrency: 1 });
events.on('test:pass', ({ name, details, skip }) => {
  if (details.type === 'suite') return;
  if (skip !== undefined) {
    tally.skipped++;
    process.stdout.write(`  skipped ${name}: ${String(skip)}\n`);
  } else {
    tally.passed++;
    process.stdout.write(`  ok ${name} (${Math.round(details.duration_ms)} ms)\n`);
  }
});
events.on('test:fail', ({ name, details }) => {
  if (details.type === 'suite') return;
  tally.failed++;
  const cause = details.error.cause ?? details.error;
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  failures.push(`✖ ${name}\n${text}\n`);
  process.stdout.write(`  FAILED ${name}\n${text}\n`);
});
events.on('end', () => {
  if (failures.length > 0) process.stdout.write(`\n${failures.join('\n')}`);
  process.stdout.write(`${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped\n`);
  process.exitCode = tally.failed > 0 || tally.passed === 0 ? 1 : 0;
});
