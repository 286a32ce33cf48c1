import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';
import type { Configuration } from './configurations.ts';

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Runs the end-to-end suite on the real stack with these parts of the release. `args`: arguments of jest. */
export async function runSuite(release: string, of: Configuration, args: readonly string[]): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-mixed-suite-'));
  const report = join(folder, 'report.json');
  const child = spawn(
    process.execPath,
    [
      ...[
        '--disable-warning=ExperimentalWarning',
        '--experimental-vm-modules',
        'node_modules/jest/bin/jest.js',
      ],
      ...['-c', 'tests/jest.mixed.config.js', '--runInBand', '--json', `--outputFile=${report}`, ...args],
    ],
    {
      cwd: root,
      env: { ...process.env, STACK: 'real', MIXED_RELEASE: release, MIXED_PARTS: of.join() },
      stdio: ['ignore', 'ignore', 'inherit'],
      // A separate process group, because jest does not stop the platform's processes.
      detached: true,
    },
  );
  const stop = () => child.pid && process.kill(-child.pid, 'SIGTERM');
  process.on('exit', stop);
  const code = await new Promise<number>((done, failed) => {
    child.once('exit', (status) => done(status ?? 1));
    child.once('error', failed);
  });
  process.off('exit', stop);
  try {
    const results = JSON.parse(readFileSync(report, 'utf8'));
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    return {
      passed: results.numPassedTests,
      failed: failed === 0 && code !== 0 ? 1 : failed,
      skipped: results.numPendingTests + results.numTodoTests,
    };
  } catch {
    // The process died before it wrote the report.
    return { passed: 0, failed: 1, skipped: 0 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
