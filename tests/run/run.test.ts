import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { execute, type JestReport, readOutput, readReport } from './execute.ts';
import { repeatFailed } from './flaky.ts';
import { runAll } from './schedule.ts';
import type { Failure, Outcome, Step } from './step.ts';

const step = (name: string, more: Partial<Step> = {}): Step => ({ name, command: ['true'], ...more });
const outcome = (of: Step, failures: readonly Failure[] = [], passed = 1): Outcome => ({
  step: of,
  tally: { passed, failed: failures.length, skipped: 0 },
  seconds: 1,
  failures,
  flaky: [],
});

it('two steps run at the same time, a dependent step waits, and a step alone runs last', async () => {
  const order: string[] = [];
  const running = new Set<string>();
  const steps = [step('d', { after: 'a' }), step('a'), step('alone', { alone: true }), step('b'), step('c')];
  let most = 0;
  await runAll(steps, async (one) => {
    order.push(one.name);
    running.add(one.name);
    most = Math.max(most, running.size);
    if (one.name === 'd') expect(running.has('a')).toBe(false);
    if (one.name === 'alone') expect(running.size).toBe(1);
    for (let i = 0; i < (one.name === 'a' ? 50 : 2); i++) await Promise.resolve();
    running.delete(one.name);
    return outcome(one);
  });
  expect(order).toEqual(['a', 'b', 'c', 'd', 'alone']);
  expect(most).toBe(2);
});

it('a lane waits when every step that is left depends on the running one', async () => {
  const order: string[] = [];
  await runAll([step('a'), step('b', { after: 'a' })], async (one) => {
    order.push(one.name);
    await Promise.resolve();
    return outcome(one);
  });
  expect(order).toEqual(['a', 'b']);
});

const failure = (name: string, file: string): Failure => ({ name, file, reason: 'expected 1' });

it('a failed test runs once more alone; it is flaky if it passes then', async () => {
  const repeated: unknown[] = [];
  const suite = step('suite', { counts: 'jest' });
  const [judged] = await repeatFailed(
    [outcome(suite, [failure('x', 'a.test.ts'), failure('y', 'b.test.ts')], 10)],
    async (one, files) => {
      repeated.push(files);
      return outcome(one, [failure('y', 'b.test.ts')], 5);
    },
  );
  expect(repeated).toEqual([['a.test.ts', 'b.test.ts']]);
  expect(judged).toMatchObject({
    tally: { passed: 11, failed: 1, skipped: 0 },
    failures: [{ name: 'y' }],
    flaky: [{ name: 'x' }],
  });
});

it.each([
  ['a run', undefined, 'pattern-1,pattern-2'],
  ['a repeat', ['failed.test.ts'], 'failed.test.ts'],
])('%s has the right test files', async (_, files, expected) => {
  const folder = mkdtempSync(join(tmpdir(), 'run-'));
  const file = join(folder, 'arguments');
  const script = "require('fs').writeFileSync(process.argv[1], process.argv.slice(2).join())";
  const suite = step('suite', {
    command: [process.execPath, '-e', script, file],
    files: ['pattern-1', 'pattern-2'],
  });
  await execute(suite, files ? { files } : {});
  expect(readFileSync(file, 'utf8')).toBe(expected);
  rmSync(folder, { recursive: true });
});

it('a failure that appears only in the repetition counts', async () => {
  const suite = step('suite', { counts: 'jest' });
  const [judged] = await repeatFailed([outcome(suite, [failure('x', 'a.test.ts')])], async (one) =>
    outcome(one, [{ name: 'Jest', reason: 'exit code 1 without a failed test' }], 0),
  );
  expect(judged?.tally.failed).toBe(1);
});

it('a step without files is repeated as a whole', async () => {
  const [judged] = await repeatFailed(
    [outcome(step('types'), [{ name: 'types', reason: 'x' }], 0)],
    async (one, files) => {
      expect(files).toBeUndefined();
      return outcome(one);
    },
  );
  expect(judged).toMatchObject({ tally: { passed: 1, failed: 0 }, failures: [], flaky: [{ name: 'types' }] });
});

it('a step with many failures is not repeated', async () => {
  const many = Array.from({ length: 11 }, (_, i) => failure(`x${i}`, 'a.test.ts'));
  const [judged] = await repeatFailed([outcome(step('suite', { counts: 'jest' }), many)], () => {
    throw new Error('repeated');
  });
  expect(judged?.tally.failed).toBe(11);
});

const report = (parts: Partial<JestReport>): JestReport => ({
  numPassedTests: 3,
  numPendingTests: 1,
  numTodoTests: 0,
  testResults: [],
  ...parts,
});

it.each<[string, Partial<JestReport>, number, number]>([
  ['no failure', {}, 0, 0],
  ['an exit code without a failed test', {}, 1, 1],
  [
    'a file that cannot be loaded',
    { testResults: [{ name: 'a.test.ts', status: 'failed', message: 'Cannot', assertionResults: [] }] },
    1,
    1,
  ],
])("Jest's report: %s", (_, parts, code, failed) => {
  const { tally, failures } = readReport(report(parts), code);
  expect(tally).toEqual({ passed: 3, failed, skipped: 1 });
  expect(failures).toHaveLength(failed);
});

it.each([
  ['a count', 'line', 0, 'x\n4 passed, 0 failed, 2 skipped\n', { passed: 4, failed: 0, skipped: 2 }],
  ['a failure in the count', 'line', 1, '4 passed, 2 failed\n', { passed: 4, failed: 2, skipped: 0 }],
  ['a missing count', 'line', 0, 'Error: x\n', { passed: 0, failed: 1, skipped: 0 }],
  [
    'an exit code with a successful count',
    'line',
    1,
    '4 passed, 0 failed\n',
    { passed: 4, failed: 1, skipped: 0 },
  ],
  ['a command that passes', undefined, 0, '', { passed: 1, failed: 0, skipped: 0 }],
  ['a command that fails', undefined, 2, 'Error: x', { passed: 0, failed: 1, skipped: 0 }],
] as const)('the last line: %s', (_, counts, code, output, tally) => {
  expect(readOutput({ name: 'x', ...(counts && { counts }) }, code, output).tally).toEqual(tally);
});
