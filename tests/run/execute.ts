import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Failure, Outcome, Step, Tally } from './step.ts';

export const root = resolve(import.meta.dirname, '../..');

/** Maximum number of lines that explain a failed step that is not a Jest run. */
const reasonsShown = 12;

/**
 * Runs the command of a step and counts its tests. The output is written when the command has ended, so that the
 * outputs of concurrent steps do not mix. `files`: the only test files of a Jest run, instead of the step's files.
 */
export async function execute(
  step: Step,
  options: { readonly env?: Readonly<Record<string, string>>; readonly files?: readonly string[] } = {},
): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-run-'));
  const report = join(folder, 'report.json');
  const began = Date.now();
  process.stdout.write(`… ${step.name}\n`);
  const [program, ...args] = step.command;
  const isJest = step.counts === 'jest';
  const jestArgs = isJest ? ['--json', `--outputFile=${report}`, '--silent=false'] : [];
  const child = spawn(program, [...args, ...(options.files ?? step.files ?? []), ...jestArgs], {
    cwd: root,
    env: {
      ...process.env,
      PATH: `${join(root, 'node_modules/.bin')}:${process.env['PATH']}`,
      ...options.env,
      ...step.env,
    },
    stdio: ['ignore', isJest ? 'ignore' : 'pipe', 'pipe'],
  });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (data: Buffer) => void output.push(data));
  const code = await new Promise<number>((done) => {
    child.once('close', (status) => done(status ?? 1));
    child.once('error', (error) => {
      output.push(Buffer.from(`${program}: ${error.message}\n`));
      done(1);
    });
  });
  const text = Buffer.concat(output).toString();
  process.stdout.write(`\n── ${step.name}\n${text}`);
  const seconds = (Date.now() - began) / 1000;
  const result =
    isJest && existsSync(report)
      ? readReport(JSON.parse(readFileSync(report, 'utf8')), code)
      : readOutput(step, code, text);
  rmSync(folder, { recursive: true, force: true });
  return { step, seconds, ...result, flaky: [] };
}

/** Part of the report that `jest --json` writes. */
export interface JestReport {
  readonly numPassedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Counts the tests of a Jest run. A file that cannot be loaded counts as one failed test. */
export function readReport(report: JestReport, code: number): { tally: Tally; failures: readonly Failure[] } {
  const failures = report.testResults.flatMap((file): Failure[] => {
    const failed = file.assertionResults.filter(({ status }) => status === 'failed');
    if (failed.length === 0 && file.status === 'failed')
      return [{ name: file.name, reason: firstLine(file.message), file: file.name }];
    return failed.map(({ fullName, failureMessages }) => ({
      name: fullName,
      reason: firstLine(failureMessages[0] ?? ''),
      file: file.name,
    }));
  });
  if (failures.length === 0 && code !== 0)
    failures.push({ name: 'Jest', reason: `exit code ${code} without a failed test` });
  return {
    tally: {
      passed: report.numPassedTests,
      failed: failures.length,
      skipped: report.numPendingTests + report.numTodoTests,
    },
    failures,
  };
}

/** Counts the tests of a command by its last line, or the command itself as one test. */
export function readOutput(
  step: Pick<Step, 'name' | 'counts'>,
  code: number,
  output: string,
): { tally: Tally; failures: readonly Failure[] } {
  const line =
    step.counts === 'line' && /(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$/.exec(output.slice(-1000));
  const counted: Tally = line
    ? { passed: Number(line[1]), failed: Number(line[2]), skipped: Number(line[3] ?? 0) }
    : { passed: code === 0 && step.counts !== 'line' ? 1 : 0, failed: 0, skipped: 0 };
  const failed = Math.max(counted.failed, code === 0 && (line || step.counts !== 'line') ? 0 : 1);
  const reasons = failed > 0 ? reasonsIn(output) : [];
  return {
    tally: { ...counted, failed },
    failures: reasons.map((reason) => ({ name: step.name, reason })),
  };
}

/** The lines that look like failures, with the line after each; otherwise the last lines. */
function reasonsIn(output: string): string[] {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const isFailure = (line: string | undefined) => /^\s*(FAILED|not ok|\w*Error\b)/.test(line ?? '');
  const found = lines.filter((line, i) => isFailure(line) || isFailure(lines[i - 1]));
  return (found.length > 0 ? found : lines).slice(-reasonsShown).map((line) => line.trim());
}

const firstLine = (text: string): string =>
  stripVTControlCharacters(text)
    .split('\n')
    .find((line) => line.trim() !== '')
    ?.trim() ?? '';
