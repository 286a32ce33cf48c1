import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './execute.ts';
import type { Step } from './step.ts';

/** Random calls, packages and bytes are the same in each run. `make schemathesis` and `make fuzz` use random seeds. */
const fuzzSeed = process.env['SEED'] || '20261121';

/** The injected faults are the same in each run. `make faults` uses random seeds. */
const crashSeed = process.env['SEED'] || '387147172';

const node = join(root, 'node_modules/.bin/node');
const bin = (name: string) => join(root, 'node_modules/.bin', name);

function jest(name: string, args: readonly string[], more: Omit<Step, 'name' | 'command'> = {}): Step {
  const runner = ['--experimental-vm-modules', join(root, 'node_modules/jest/bin/jest.js')];
  return {
    name,
    command: [node, '--disable-warning=ExperimentalWarning', ...runner, ...args],
    counts: 'jest',
    ...more,
  };
}

/** A program of this repository; its last line is `N passed, N failed, N skipped`. */
function program(name: string, file: string, more: Omit<Step, 'name' | 'command'> = {}): Step {
  return {
    name,
    command: [node, '--disable-warning=ExperimentalWarning', file],
    counts: 'line',
    ...more,
  };
}

const endToEnd = ['-c', 'tests/jest.e2e.config.js', '--runInBand'];
const charts = ['-c', 'tests/jest.charts.config.js', '--runInBand'];

/** A folder in memory, so that unit tests do not wait for the disk. Undefined if the machine has none. */
const memoryFolder = ((): string | undefined => {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    return bavail * bsize > 2 ** 30 ? mkdtempSync('/dev/shm/headset-cloud-unit-') : undefined;
  } catch {
    return undefined;
  }
})();
process.on('exit', () => {
  if (memoryFolder) rmSync(memoryFolder, { recursive: true, force: true });
});

const unit = jest('unit', [], memoryFolder ? { env: { TMPDIR: memoryFolder } } : {});

/** `make check`. */
export const quickSteps: readonly Step[] = [
  unit,
  { name: 'format, lint, import cycles', command: [bin('biome'), 'ci', '--error-on-warnings', '.'] },
  { name: 'types', command: [bin('tsc'), '--noEmit', '-p', '.'] },
  { name: 'protocols (lint)', command: [bin('buf'), 'lint', 'proto'] },
  { name: 'protocols (generated code is current)', command: [node, 'tests/architecture/generated.ts'] },
  jest('architecture', ['-c', 'tests/jest.architecture.config.js']),
];

const crash = (
  name: string,
  env: Readonly<Record<string, string>>,
  more: Omit<Step, 'name' | 'command'> = {},
): Step =>
  program(name, 'tests/faults/main.ts', { env: { CAN_FAIL: '0', SEED: crashSeed, ...env }, ...more });

/**
 * True in CI. Elsewhere `make test` is shorter: it leaves steps out, and runs 5 rounds of the crash test.
 */
export const isDemanded = process.env['REQUIRE_REAL_STACK'] === '1';

const siteName = 'documentation site (types, build, checks in Chromium)';

/**
 * `make test` runs these after the quick ones, in two lanes that take the next step. The order keeps steps with many
 * processes (cluster, nine processes) apart.
 */
export const slowSteps: readonly Step[] = [
  {
    name: siteName,
    command: ['make', '--no-print-directory', 'site-test'],
    counts: 'line',
  },
  jest('end to end, one process on MongoDB and Kafka', endToEnd, {
    env: { STACK: 'real', PROCESSES: 'one' },
  }),
  // The site's image contains the built site.
  jest('images, and the chart on a cluster', charts, {
    files: ['tests/charts/image', 'tests/charts/cluster'],
    after: siteName,
    ifDemanded: true,
  }),
  // Files whose behaviour may depend on the stores run on the real stack, and on both stacks in `make test-long`.
  jest('end to end, embedded (files that do not depend on the stores)', endToEnd, {
    env: { STACK: 'embedded', FILES: 'without-stores' },
  }),
  jest('chart (manifests, values, alerts)', charts, {
    files: ['tests/charts/headset-cloud', 'tests/charts/skaffold.test.ts'],
  }),
  program('API fuzz test, embedded', 'tests/schemathesis/main.ts', {
    env: { STACK: 'embedded', SEED: fuzzSeed },
  }),
  crash('crash test, embedded', { STACK: 'embedded', ROUNDS: isDemanded ? '20' : '5' }),
  crash('crash test, nine processes on MongoDB and Kafka', { STACK: 'real', ROUNDS: '20' }),
  jest('contract (embedded against MongoDB, Kafka and S3)', [
    '-c',
    'tests/jest.contract.config.js',
    '--runInBand',
  ]),
  jest('end to end, nine processes on MongoDB and Kafka', endToEnd, {
    env: { STACK: 'real', FILES: 'processes' },
  }),
  program('the last release beside today, MongoDB and Kafka', 'tests/mixed/main.ts', {
    env: { SUITE: '0', CAN_FAIL: '0' },
  }),
  {
    name: 'samples of the guides (curl, Node, Python)',
    command: ['make', '--no-print-directory', 'site-samples'],
    counts: 'line',
  },
  program('conformance kit against the simulated headset', 'tests/conformance/self.ts', {
    env: { CAN_FAIL: '0' },
  }),
  program('fuzz test of the listeners, embedded', 'tests/fuzz/listeners/main.ts', {
    env: { STACK: 'embedded', SECONDS: '10', SEED: fuzzSeed },
  }),
  program('fuzz test of packages', 'tests/fuzz/packages.ts', { env: { SECONDS: '10', SEED: fuzzSeed } }),
  // Its packages are installed by the site's step.
  program('no test fails on a machine without tools', 'tests/tools/main.ts', {
    after: siteName,
    ifDemanded: true,
  }),
  program('known vulnerabilities (npm audit)', 'tests/audit/main.ts'),
];

/** Prove that the checks of the crash test, the conformance kit and the release test find seeded faults. */
const canFailSteps: readonly Step[] = [
  crash(
    'crash test, embedded: its checks find seeded faults',
    { STACK: 'embedded', CAN_FAIL: 'only' },
    {
      ifChanged: ['verify', 'verify.ts', 'can-fail.ts', 'mutation-runs.ts', 'evidence.ts', 'gather.ts'].map(
        (file) => `tests/faults/${file}`,
      ),
    },
  ),
  program('conformance kit: each rule finds a headset that breaks it', 'tests/conformance/self.ts', {
    env: { CAN_FAIL: 'only' },
    ifChanged: ['rules', 'rule.ts', 'can-fail.ts', 'test-rule.ts', 'verdict.ts'].map(
      (file) => `tests/conformance/${file}`,
    ),
  }),
];

/** `make test` runs these if their files changed; `make test-long` always does. */
export const conditionalSteps = canFailSteps;

/** `make test-long` runs these one after the other, in addition to everything of `make test`. */
export const longSteps: readonly Step[] = [
  {
    name: 'unit, ten times beside four busy loops',
    command: [node, 'tests/run/busy.ts', '10', ...unit.command],
    ...(unit.env && { env: unit.env }),
  } satisfies Step,
  jest('end to end, embedded, all files', endToEnd, { env: { STACK: 'embedded' } }),
  jest('end to end, nine processes on MongoDB and Kafka, all files', endToEnd, {
    env: { STACK: 'real', TEST_LONG: '1' },
  }),
  jest('end to end, two instances of every service', endToEnd, { env: { STACK: 'real', INSTANCES: '2' } }),
  jest('images built twice, and the chart on a cluster at length', charts, {
    files: ['tests/charts/image', 'tests/charts/cluster'],
    env: { TEST_LONG: '1' },
  }),
  program('the last release beside today: older services are found', 'tests/mixed/main.ts', {
    env: { SUITE: 'paired' },
  }),
  program('API fuzz test, MongoDB and Kafka', 'tests/schemathesis/main.ts', {
    env: { STACK: 'real', SEED: fuzzSeed },
  }),
  program('fuzz test of the listeners, MongoDB and Kafka', 'tests/fuzz/listeners/main.ts', {
    env: { STACK: 'real', SECONDS: '60', SEED: fuzzSeed },
  }),
  crash('crash test, nine processes: its checks find seeded faults', { STACK: 'real', CAN_FAIL: 'only' }),
  crash('crash test, embedded, 300 rounds', { STACK: 'embedded', ROUNDS: '300' }),
  crash('crash test, nine processes on MongoDB and Kafka, 300 rounds', { STACK: 'real', ROUNDS: '300' }),
  crash('crash test, one process on MongoDB and Kafka, 300 rounds', {
    STACK: 'real',
    PROCESSES: 'one',
    ROUNDS: '300',
  }),
].map((step: Step): Step => ({ ...step, alone: true }));
