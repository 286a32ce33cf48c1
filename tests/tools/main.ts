import { spawn } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join, relative, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { findProgram } from '@headset-cloud/demo/stack/programs.ts';

/**
 * Checks what the tests do on a machine without tools: nothing fails, and each skip has a reason. PATH has only node,
 * npm, make, git and what a shell needs; REQUIRE_REAL_STACK and the addresses of servers are not set. Long suites are
 * only collected: their describe bodies run, their tests do not. Arguments choose entries by a part of their name. The
 * last line of the output has the counts.
 */
const root = resolve(import.meta.dirname, '../..');
const work = mkdtempSync(join(tmpdir(), 'headset-cloud-tools-'));
process.once('exit', () => rmSync(work, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

/** Programs that the README requires. */
const required = ['node', 'npm', 'make', 'git'];
/** Programs that every system has, the shell of the Makefile among them. */
const utilities = [
  ...['basename', 'bash', 'cat', 'chmod', 'cp', 'cut', 'date', 'dirname', 'env', 'expand', 'expr', 'false'],
  ...[
    'find',
    'grep',
    'head',
    'id',
    'kill',
    'ln',
    'ls',
    'mkdir',
    'mkfifo',
    'mktemp',
    'mv',
    'od',
    'printf',
    'ps',
  ],
  ...['pwd', 'readlink', 'rm', 'rmdir', 'sed', 'sh', 'sleep', 'sort', 'stat', 'tail', 'tar', 'tee', 'test'],
  ...['touch', 'tr', 'true', 'uname', 'uniq', 'wc', 'xargs'],
];

/** Makes the folder that is the machine's part of PATH. */
function makeBin(): string {
  const folder = join(work, 'bin');
  mkdirSync(folder);
  // npm runs on the machine's Node, not on the project's.
  const own = join(root, 'node_modules/.bin');
  process.env['PATH'] = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((one) => one !== own)
    .join(delimiter);
  for (const name of [...required, ...utilities]) {
    const path = findProgram(name);
    if (path) symlinkSync(path, join(folder, name));
    else if (required.includes(name)) throw new Error(`${name} is not on PATH.`);
  }
  return folder;
}

const environment: Record<string, string> = {
  HOME: homedir(),
  LANG: 'C.UTF-8',
  TMPDIR: tmpdir(),
  PATH: [join(root, 'node_modules/.bin'), makeBin()].join(delimiter),
  TOOLS_CACHE: join(work, 'no-tools'),
  // Nothing listens there: npm audit gets no answer at once.
  npm_config_registry: 'http://127.0.0.1:9/',
  npm_config_fetch_retries: '0',
};

interface Entry {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A jest run is judged by its report; anything else by its last line. */
  readonly isJest?: true;
  /** Texts of which each must be in the output, because they are reasons of skips. */
  readonly says?: readonly string[];
}

/** No test has this name, so jest runs the describe bodies only. */
const collected = ['--testNamePattern', 'only the describe bodies run'];

const jest = (name: string, args: readonly string[], more: Partial<Entry> = {}): Entry => ({
  name,
  args: ['--experimental-vm-modules', join(root, 'node_modules/jest/bin/jest.js'), ...args],
  isJest: true,
  ...more,
});

/** The start of a program by its name. */
const startsProgram = /\b(?:spawn|spawnSync|execFile|execFileSync|execute)\(\s*(?:'|shell\b)/;

/** Unit tests that start programs. They run, because the runner of the unit tests runs hooks without their tests. */
const startPrograms = globSync('{services,gateway,proto,tests}/**/*.test.ts', { cwd: root })
  .filter((file) => !/node_modules|^tests\/(architecture|charts|contract|e2e)\//.test(file))
  .filter((file) => startsProgram.test(readFileSync(join(root, file), 'utf8')));

const noServers = ['secantusd-rs', 'java'];
const site = '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON';

/** Checks in Chromium that need no built site if Chromium is missing. */
const siteChecks = globSync('browser/*.test.ts', { cwd: join(root, 'docs-site/tests') }).filter(
  (file) => file !== 'browser/weight.test.ts',
);

/** The longest come first. */
const entries: readonly Entry[] = [
  jest('end to end (collected)', ['-c', 'tests/jest.e2e.config.js', ...collected], {
    env: { STACK: 'real' },
    says: noServers,
  }),
  jest('unit tests that start programs', startPrograms),
  jest('charts and images', ['-c', 'tests/jest.charts.config.js']),
  jest('architecture', ['-c', 'tests/jest.architecture.config.js']),
  jest('contract (collected)', ['-c', 'tests/jest.contract.config.js', ...collected], { says: [] }),
  {
    // The checks that need Chromium, and those that need Python.
    name: 'documentation site',
    args: [site, 'docs-site/tests/main.ts', ...siteChecks, 'unit/api-samples'],
    says: ['chromium', 'Python'],
  },
  {
    name: 'samples of the guides (collected)',
    args: [site, 'docs-site/tests/samples/main.ts'],
    env: { CHECK_LIST: '1' },
    says: ['curl', 'Python 3.9'],
  },
  {
    name: 'crash test, MongoDB and Kafka',
    args: ['tests/faults/main.ts'],
    env: { STACK: 'real' },
    says: noServers,
  },
  { name: 'the last release beside today', args: ['tests/mixed/main.ts'], env: { SUITE: '0' } },
  {
    name: 'fuzz test of the listeners, MongoDB and Kafka',
    args: ['tests/fuzz/listeners/main.ts'],
    env: { STACK: 'real' },
    says: noServers,
  },
  { name: 'fuzz test of packages', args: ['tests/fuzz/packages.ts'], env: { ONLY: '1', SEED: '1' } },
  ...['embedded', 'real'].map((stack) => ({
    name: `API fuzz test, ${stack}`,
    args: ['tests/schemathesis/main.ts'],
    env: { STACK: stack },
    says: ['python3'],
  })),
  {
    name: 'conformance kit (without its rules)',
    args: ['tests/conformance/self.ts'],
    env: { RULES: 'no rule', CAN_FAIL: '0' },
  },
  { name: 'known vulnerabilities', args: ['tests/audit/main.ts'] },
];

/** A test may be skipped for these reasons only; they name a tool or a setting. */
const reasons = /not on PATH|not set|not built|not root|with TEST_LONG=1|no MONGODB_URI|no S3_ENDPOINT/;

interface Report {
  readonly numFailedTests: number;
  readonly numFailedTestSuites: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** Returns what is wrong with a jest run. */
function judgeReport(file: string, isCollected: boolean): string[] {
  const report: Report = JSON.parse(readFileSync(file, 'utf8'));
  const failed = report.testResults.filter(({ status }) => status === 'failed');
  const found = failed.map(({ name, message }) => `${relative(root, name)}:\n${message}`);
  if (found.length === 0 && report.numFailedTests + report.numFailedTestSuites > 0)
    found.push('a test failed');
  if (report.testResults.length === 0) found.push('no test file was found');
  if (isCollected) return found;
  for (const { name, assertionResults } of report.testResults) {
    const silent = assertionResults.filter(
      ({ status, fullName }) => status === 'pending' && !reasons.test(fullName),
    );
    if (silent.length > 0)
      found.push(
        `${relative(root, name)}: ${silent.length} skipped without a reason: ${silent[0]?.fullName}`,
      );
  }
  return found;
}

/** Runs an entry; returns what is wrong. */
async function run(entry: Entry, index: number): Promise<string[]> {
  const file = join(work, `${index}.json`);
  const report = entry.isJest ? ['--json', `--outputFile=${file}`] : [];
  const args = ['--disable-warning=ExperimentalWarning', ...entry.args, ...report];
  const child = spawn(join(root, 'node_modules/.bin/node'), args, {
    cwd: root,
    env: { ...environment, ...entry.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const leave = () => child.kill();
  process.once('exit', leave);
  const ended = new Promise<void>((done, fail) => child.once('close', () => done()).once('error', fail));
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  process.off('exit', leave);
  const output = `${out}${errors}`;
  const silent = (entry.says ?? []).filter((word) => !output.includes(word));
  const problems = silent.map((word) => `the output does not name ${word}:\n${output}`);
  if (entry.isJest) {
    const isCollected = entry.args.includes('--testNamePattern');
    try {
      return [...problems, ...judgeReport(file, isCollected)];
    } catch (error) {
      return [...problems, `jest wrote no report (${(error as Error).message}):\n${output}`];
    }
  }
  const [, failed] = /\d+ passed, (\d+) failed(?:, \d+ skipped)?\s*$/.exec(out) ?? [];
  if (failed !== '0') problems.push(output);
  return problems;
}

const chosen = entries.filter(({ name }) => {
  const words = process.argv.slice(2);
  return words.length === 0 || words.some((word) => name.includes(word));
});
const queue = [...chosen];
let [passed, wrong] = [0, 0];
async function lane(): Promise<void> {
  for (let entry = queue.shift(); entry; entry = queue.shift()) {
    const problems = await run(entry, entries.indexOf(entry));
    if (problems.length === 0) passed += 1;
    else wrong += 1;
    process.stdout.write(`${problems.length === 0 ? 'ok    ' : 'FAILED'} ${entry.name}\n`);
    for (const problem of problems) process.stdout.write(`${problem.replace(/^/gm, '    ')}\n`);
  }
}
await Promise.all([lane(), lane()]);
process.stdout.write(`${passed} passed, ${wrong} failed\n`);
process.exitCode = wrong > 0 || passed === 0 ? 1 : 0;
