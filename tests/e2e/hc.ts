import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { stack, type Tenant } from './harness.ts';

/** A run of the integrators' command line in a separate process. */
export interface HcRun {
  readonly child: ChildProcess;
  readonly out: string;
  readonly err: string;
  /** The complete lines of standard output. */
  readonly lines: readonly string[];
  /** Exit code; a signal's name if a signal ended the process. */
  readonly ended: Promise<number | string>;
}

/** An integrator's machine: a separate home folder, with the credentials of a tenant in the environment. */
export interface Laptop {
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  /** Starts hc; `input` is its standard input. */
  start(args: readonly string[], more?: { input?: string; env?: Record<string, string> }): HcRun;
  /** Runs hc to its end. */
  run(args: readonly string[], more?: { input?: string; env?: Record<string, string> }): Promise<Ended>;
  /** Runs `hc --json` to its end, which must be a success, and returns the printed value. */
  // biome-ignore lint/suspicious/noExplicitAny: answers have any shape
  json(...args: string[]): Promise<any>;
}

/** Result of a run of hc. */
export interface Ended {
  readonly code: number | string;
  readonly out: string;
  readonly err: string;
}

/** The command line that starts hc. */
export const hcWords = [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  join(root, 'services/hc/src/main.ts'),
] as const;

const running = new Set<ChildProcess>();

/** Kills runs that a failed test left behind: they would keep the test's process alive. */
export function killRuns(): void {
  for (const child of running) child.kill('SIGKILL');
}

export function laptopOf({ applicationId, client }: Tenant): Laptop {
  const home = mkdtempSync(join(stack.dataDir, 'laptop-'));
  const env = {
    ...{ PATH: process.env['PATH'] ?? '', HOME: home },
    ...{ HC_API_URL: stack.apiUrl, HC_TOKEN_URL: stack.tokenUrl, HC_APPLICATION: applicationId },
    ...{ HC_CLIENT_ID: client.clientId, HC_CLIENT_SECRET: client.clientSecret },
  };
  const start: Laptop['start'] = (args, more = {}) => {
    const [node, ...words] = hcWords;
    const child = spawn(node, [...words, ...args], { env: { ...env, ...more.env }, stdio: 'pipe' });
    running.add(child);
    child.once('close', () => running.delete(child));
    // The process may end before it has read everything.
    child.stdin.on('error', () => {});
    child.stdin.end(more.input ?? '');
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    const ended = new Promise<number | string>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve(signal ?? code ?? 0));
    });
    return {
      ...{ child, ended },
      get out() {
        return out;
      },
      get err() {
        return err;
      },
      get lines() {
        return out.split('\n').slice(0, -1);
      },
    };
  };
  const run: Laptop['run'] = async (args, more) => {
    const started = start(args, more);
    const code = await started.ended;
    return { code, out: started.out, err: started.err };
  };
  return {
    ...{ home, env, start, run },
    async json(...args) {
      const { code, out, err } = await run(['--json', ...args]);
      if (code !== 0) throw new Error(`hc ${args.join(' ')}: ${code}: ${err}`);
      return JSON.parse(out);
    },
  };
}
