import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { stack } from './harness.ts';

/** Result of a run of the operators' command line. */
export interface CtlRun {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `ctl` as an operator does: as a separate process, on the listeners of the running platform. */
export function ctl(...args: string[]): Promise<CtlRun> {
  return ctlWith(listeners(), ...args);
}

/** Runs `ctl` with standard input `input` and more environment variables. */
export function ctlFed(input: Readable, env: Record<string, string>, ...args: string[]): Promise<CtlRun> {
  return run(input, { ...listeners(), ...env }, args);
}

/** Runs `ctl` with these environment variables. */
export function ctlWith(env: Record<string, string>, ...args: string[]): Promise<CtlRun> {
  return run(undefined, env, args);
}

function listeners(): Record<string, string> {
  return {
    DEVICES_ADMIN: stack.admin.devices,
    TRANSACTIONS_ADMIN: stack.admin.transactions,
    NOTIFIER_ADMIN: stack.admin.notifier,
    UPDATES_ADMIN: stack.admin.updates,
    CONNECTIVITY_ADMIN: stack.admin.connectivity,
    BILLING_ADMIN: stack.admin.billing,
  };
}

function run(
  input: Readable | undefined,
  env: Record<string, string>,
  args: readonly string[],
): Promise<CtlRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', join(root, 'services/ctl/src/main.ts'), ...args],
      { env: { PATH: process.env['PATH'] ?? '', ...env }, stdio: ['pipe', 'pipe', 'pipe'] },
    );
    // The process may end before it has read everything.
    child.stdin.on('error', () => {});
    if (input) input.pipe(child.stdin);
    else child.stdin.end();
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === null) reject(new Error(`ctl was ended by ${signal}`));
      else resolve({ exitCode: code, out, err });
    });
  });
}

/** Runs `ctl --json`; returns the printed value. Throws if the command failed. */
// biome-ignore lint/suspicious/noExplicitAny: answers have any shape
export async function ctlJson(...args: string[]): Promise<any> {
  const run = await ctl('--json', ...args);
  if (run.exitCode !== 0) throw new Error(`ctl ${args.join(' ')}: ${run.exitCode}: ${run.err}`);
  return JSON.parse(run.out);
}
