import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { run } from 'node:test';
import { readGuides } from './extract.ts';

// `node tests/samples/main.ts [word …]`: runs the test files of this folder whose names contain one of the words.

const folder = import.meta.dirname;
const words = process.argv.slice(2);
const files = readdirSync(folder)
  .filter(
    (name) => name.endsWith('.test.ts') && (words.length === 0 || words.some((word) => name.includes(word))),
  )
  .map((name) => join(folder, name));
const say = (text: string): void => void process.stdout.write(`${text}\n`);

const samples = readGuides(resolve(folder, '../../content/docs')).flatMap(({ file, samples: all }) =>
  all.map((sample) => ({ ...sample, file })),
);
const unrun = samples.filter(({ norun }) => norun !== undefined);
say(`samples: ${samples.length - unrun.length} to run, ${unrun.length} not run`);
for (const { file, line, name, norun } of unrun) say(`  not run: ${file}:${line} ${name}: ${norun}`);

const counts = { passed: 0, failed: 0, skipped: 0 };
// On SIGINT and SIGTERM, ends the tests and their child processes first.
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
const tests = run({ files, concurrency: false, signal: stop.signal });
tests.on('test:pass', ({ name, details, skip }) => {
  if (details.type === 'suite' && skip === undefined) return;
  counts[skip === undefined ? 'passed' : 'skipped'] += 1;
  if (typeof skip === 'string') say(`  skipped: ${name}: ${skip}`);
});
tests.on('test:fail', ({ name, file, details }) => {
  // A suite also fails if its tests fail. Counts only suites whose setup failed.
  if (details.error.message.match(/\d+ subtests? failed/)) return;
  counts.failed += 1;
  const cause = details.error.cause as Error | undefined;
  say(
    `  FAILED: ${name} (${file})\n${String(cause?.message ?? details.error.message).replace(/^/gm, '    ')}`,
  );
});
for await (const _ of tests) {
  // Waits for the end of the run.
}
say(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
if (stop.signal.aborted) process.exit(130);
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
