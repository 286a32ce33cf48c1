import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/**
 * Runs every check that CI runs, shows how long each took, and ends with the line
 * `N passed, N failed, N skipped`. The quick ones come first, in two lanes; of the slow ones the
 * end-to-end suite, the fuzz tests and the crash tests run in two lanes as well, and what measures runs alone.
 * `check` as an argument runs only the quick ones.
 */
const root = resolve(import.meta.dirname, '..');
const bin = (name: string) => join(root, 'node_modules', '.bin', name);
const jest = [
  '--disable-warning=ExperimentalWarning',
  '--experimental-vm-modules',
  join(root, 'node_modules/jest/bin/jest.js'),
];
const results = mkdtempSync(join(tmpdir(), 'headset-cloud-test-'));

interface Step {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  /** A jest run counts its tests; anything else counts as one. */
  readonly counts?: 'jest' | 'line';
  readonly quick?: true;
  /**
   * The steps of a group, and the quick ones, run in two lanes: each takes the next one in this order, so the longest
   * stand first. What they print is shown when they have ended.
   */
  readonly group?: 'suites' | 'faults';
}

const jestStep = (name: string, args: string[], env: Record<string, string> = {}): Step => ({
  name,
  command: bin('node'),
  args: [...jest, ...args],
  env,
  counts: 'jest',
});

/** A folder in memory, so that what the unit tests write waits for no disk; undefined where there is none. */
const memoryFolder = ((): string | undefined => {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    return bavail * bsize > 2 ** 30 ? mkdtempSync('/dev/shm/headset-cloud-unit-') : undefined;
  } catch {
    return undefined;
  }
})();

process.on('exit', () => {
  for (const folder of [results, memoryFolder]) if (folder) rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

/** The same calls, packages and bytes in each run, so that a change is judged by itself; `make schemathesis` and `make fuzz` draw others. */
const madeUpSeed = '20261121';

/** The same faults in each run, likewise; `make faults` draws others. */
const crashSeed = '387147172';

const steps: Step[] = [
  { ...jestStep('unit', [], memoryFolder ? { TMPDIR: memoryFolder } : {}), quick: true },
  {
    name: 'format, lint, import cycles',
    command: bin('biome'),
    args: ['ci', '--error-on-warnings', '.'],
    quick: true,
  },
  { name: 'types', command: bin('tsc'), args: ['--noEmit', '-p', '.'], quick: true },
  { name: 'protocols (lint)', command: bin('buf'), args: ['lint'], cwd: 'proto', quick: true },
  {
    name: 'protocols (generated code is current)',
    command: bin('node'),
    args: ['tests/architecture/generated.ts'],
    quick: true,
  },
  { ...jestStep('architecture', ['-c', 'tests/jest.architecture.config.js']), quick: true },
  {
    ...jestStep('end to end, MongoDB and Kafka', ['-c', 'tests/jest.e2e.config.js', '--runInBand'], {
      STACK: 'real',
    }),
    group: 'suites',
  },
  {
    ...jestStep('contract (embedded against MongoDB, Kafka and S3)', [
      '-c',
      'tests/jest.contract.config.js',
      '--runInBand',
    ]),
    group: 'suites',
  },
  {
    ...jestStep('end to end, embedded', ['-c', 'tests/jest.e2e.config.js', '--runInBand'], {
      STACK: 'embedded',
    }),
    group: 'suites',
  },
  {
    ...jestStep('chart (manifests, values, alerts)', [
      ...['-c', 'tests/jest.charts.config.js', '--runInBand'],
      ...['tests/charts/headset-cloud', 'tests/charts/skaffold.test.ts'],
    ]),
    group: 'suites',
  },
  {
    name: 'known vulnerabilities (npm audit)',
    command: bin('node'),
    args: ['tests/audit/main.ts'],
    counts: 'line',
  },
  {
    name: 'documentation site (types, build, checks in Chromium)',
    command: 'make',
    args: ['--no-print-directory', 'site-test'],
    counts: 'line',
  },
  // After the site's checks, which build the site that its image contains.
  jestStep('images, and the chart on a cluster', [
    ...['-c', 'tests/jest.charts.config.js', '--runInBand'],
    ...['tests/charts/image', 'tests/charts/cluster'],
  ]),
  {
    name: 'samples of the guides (curl, Node, Python)',
    command: 'make',
    args: ['--no-print-directory', 'site-samples'],
    counts: 'line',
  },
  {
    name: 'crash test, embedded',
    group: 'faults',
    command: bin('node'),
    args: ['tests/faults/main.ts'],
    env: { STACK: 'embedded', ROUNDS: '20', SEED: process.env['SEED'] || crashSeed },
    counts: 'line',
  },
  {
    name: 'the last release beside today, MongoDB and Kafka',
    group: 'faults',
    command: bin('node'),
    args: ['--disable-warning=ExperimentalWarning', 'tests/mixed/main.ts'],
    env: { SUITE: '0' },
    counts: 'line',
  },
  {
    name: 'crash test, MongoDB and Kafka',
    group: 'faults',
    command: bin('node'),
    args: ['tests/faults/main.ts'],
    env: { STACK: 'real', ROUNDS: '20', SEED: process.env['SEED'] || crashSeed },
    counts: 'line',
  },
  {
    name: 'conformance kit against the simulated headset',
    group: 'faults',
    command: bin('node'),
    args: ['--disable-warning=ExperimentalWarning', 'tests/conformance/self.ts'],
    counts: 'line',
  },
  {
    ...jestStep(
      'core loop, one process on MongoDB and Kafka',
      ['-c', 'tests/jest.e2e.config.js', '--runInBand', 'tests/e2e/core-loop.test.ts'],
      { STACK: 'real', PROCESSES: 'one' },
    ),
    group: 'faults',
  },
  {
    name: 'crash test, one process on MongoDB and Kafka',
    group: 'faults',
    command: bin('node'),
    args: ['tests/faults/main.ts'],
    env: { STACK: 'real', PROCESSES: 'one', ROUNDS: '20', SEED: process.env['SEED'] || crashSeed },
    counts: 'line',
  },
  {
    name: 'fuzz test of packages',
    group: 'faults',
    command: bin('node'),
    args: ['--disable-warning=ExperimentalWarning', 'tests/fuzz/packages.ts'],
    env: { SECONDS: '10', SEED: process.env['SEED'] || madeUpSeed },
    counts: 'line',
  },
  {
    name: 'fuzz test of the doors, embedded',
    group: 'faults',
    command: bin('node'),
    args: ['--disable-warning=ExperimentalWarning', 'tests/fuzz/doors/main.ts'],
    env: { STACK: 'embedded', SECONDS: '10', SEED: process.env['SEED'] || madeUpSeed },
    counts: 'line',
  },
  {
    name: 'API fuzz test, embedded',
    group: 'faults',
    command: bin('node'),
    args: ['--disable-warning=ExperimentalWarning', 'tests/schemathesis/main.ts'],
    env: { STACK: 'embedded', SEED: process.env['SEED'] || madeUpSeed },
    counts: 'line',
  },
  {
    name: 'API fuzz test, MongoDB and Kafka',
    group: 'faults',
    command: bin('node'),
    args: ['--disable-warning=ExperimentalWarning', 'tests/schemathesis/main.ts'],
    env: { STACK: 'real', SEED: process.env['SEED'] || madeUpSeed },
    counts: 'line',
  },
];

interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

interface Outcome {
  readonly step: Step;
  readonly tally: Tally;
  readonly seconds: number;
  /** Why it failed, a line each; empty if it did not. */
  readonly reasons: readonly string[];
}

/** How many lines of reasons a failed step shows below the table, which is all that some CI systems keep. */
const reasonsShown = 12;

/** Where the servers of each lane listen: one that restarts finds its port again, whatever the other lane starts. */
const portsOfLanes = ['15000-22499', '22500-29999'];

async function run(step: Step, index: number, ports?: string): Promise<Omit<Outcome, 'step'>> {
  const file = join(results, `${index}.json`);
  const started = Date.now();
  const args =
    step.counts === 'jest' ? [...step.args, '--json', `--outputFile=${file}`, '--silent=false'] : step.args;
  // What runs beside others is shown as a whole when it has ended.
  const held: Buffer[] = [];
  const isHeld = step.quick || step.group !== undefined;
  const show = (data: Buffer) => (isHeld ? held.push(data) : process.stdout.write(data));
  show(Buffer.from(`\n── ${step.name}\n`));
  const child = spawn(step.command, args, {
    cwd: step.cwd ? join(root, step.cwd) : root,
    env: {
      ...process.env,
      PATH: `${join(root, 'node_modules/.bin')}:${process.env['PATH']}`,
      ...(ports && { TEST_PORTS: ports }),
      ...step.env,
    },
    stdio: ['ignore', step.counts === 'jest' ? 'ignore' : 'pipe', isHeld ? 'pipe' : 'inherit'],
  });
  let last = '';
  child.stderr?.on('data', show);
  child.stdout?.on('data', (data: Buffer) => {
    show(data);
    last = (last + data.toString()).slice(-20_000);
  });
  const code = await new Promise<number>((done) => {
    child.once('close', (status) => done(status ?? 1));
    child.once('error', (error) => {
      process.stderr.write(`${error.message}\n`);
      done(1);
    });
  });
  process.stdout.write(Buffer.concat(held));
  const tally = count(step, code, file, last);
  const reasons = tally.failed > 0 ? reasonsOf(step, file, last).map((line) => line.slice(0, 300)) : [];
  return { tally, seconds: (Date.now() - started) / 1000, reasons };
}

/** The failed tests, each with the first line of its message; of what is no jest run the last lines that it printed. */
function reasonsOf(step: Step, file: string, output: string): string[] {
  if (step.counts !== 'jest' || !existsSync(file)) {
    const lines = output.split('\n').filter((line) => line.trim() !== '');
    const tells = (line: string | undefined) => /^\s*(FAILED|not ok|\w*Error\b)/.test(line ?? '');
    // The first detail follows in the next line.
    const told = lines.filter((line, i) => tells(line) || tells(lines[i - 1]));
    return (told.length > 0 ? told : lines).slice(-reasonsShown);
  }
  const report = JSON.parse(readFileSync(file, 'utf8'));
  const failed = report.testResults.flatMap((suite: JestSuite) => {
    const tests = suite.assertionResults.filter(({ status }) => status === 'failed');
    if (tests.length === 0 && suite.status === 'failed')
      return [`${suite.name}: ${firstLine(suite.message)}`];
    return tests.map((test) => `${test.fullName}: ${firstLine(test.failureMessages[0] ?? '')}`);
  });
  return failed.slice(0, reasonsShown);
}

interface JestSuite {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    readonly status: string;
    readonly failureMessages: readonly string[];
  }[];
}

const firstLine = (text: string): string =>
  stripVTControlCharacters(text)
    .split('\n')
    .find((line) => line.trim() !== '')
    ?.trim() ?? '';

function count(step: Step, code: number, file: string, output: string): Tally {
  if (step.counts === 'jest' && existsSync(file)) {
    const report = JSON.parse(readFileSync(file, 'utf8'));
    const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
    return {
      passed: report.numPassedTests,
      failed: failed === 0 && code !== 0 ? 1 : failed,
      skipped: report.numPendingTests + report.numTodoTests,
    };
  }
  const line = /(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$/.exec(output);
  if (step.counts === 'line' && line) {
    const failed = Number(line[2]);
    return {
      passed: Number(line[1]),
      failed: failed === 0 && code !== 0 ? 1 : failed,
      skipped: Number(line[3] ?? 0),
    };
  }
  return code === 0 ? { passed: 1, failed: 0, skipped: 0 } : { passed: 0, failed: 1, skipped: 0 };
}

async function runAll(some: readonly Step[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const step of some) outcomes.push({ step, ...(await run(step, steps.indexOf(step))) });
  return outcomes;
}

/** All of them in two lanes, each of which takes the next one when it has done its last. */
async function runLanes(some: readonly Step[]): Promise<Outcome[]> {
  const left = [...some];
  const lane = async (ports: string): Promise<Outcome[]> => {
    const outcomes: Outcome[] = [];
    for (let step = left.shift(); step; step = left.shift()) {
      outcomes.push({ step, ...(await run(step, steps.indexOf(step), ports)) });
    }
    return outcomes;
  };
  return (await Promise.all(portsOfLanes.map(lane))).flat();
}

const slow = process.argv[2] === 'check' ? [] : steps.filter((s) => !s.quick);
const outcomes = [
  ...(await runLanes(steps.filter((s) => s.quick))),
  ...(await runAll(slow.filter((s) => s.group === undefined))),
];
for (const group of new Set(slow.flatMap((s) => s.group ?? []))) {
  outcomes.push(...(await runLanes(slow.filter((s) => s.group === group))));
}
const sum = (of: keyof Tally) => outcomes.reduce((all, { tally }) => all + tally[of], 0);
const table = outcomes.map(
  ({ step, tally, seconds }) =>
    `${seconds.toFixed(1).padStart(7)} s  ${tally.failed > 0 ? 'FAILED' : 'ok    '}  ${step.name}: ${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`,
);
const why = outcomes
  .filter(({ reasons }) => reasons.length > 0)
  .map(({ step, reasons }) => `\n${step.name}:\n${reasons.map((line) => `  ${line}`).join('\n')}\n`);
process.stdout.write(
  `\n${table.join('\n')}\n${why.join('')}\n${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped\n`,
);
process.exit(sum('failed') > 0 ? 1 : 0);
