import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addressText } from '@headset-cloud/runtime/config.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createBucket } from './bucket.ts';
import { freePort } from './ports.ts';
import { type BackingServer, killAtExit, root } from './process.ts';
import { findProgram } from './programs.ts';

/** Environment variables of a bucket. */
export interface S3Environment {
  readonly S3_ENDPOINT: string;
  readonly S3_BUCKET: string;
  readonly S3_REGION: string;
  readonly AWS_ACCESS_KEY_ID: string;
  readonly AWS_SECRET_ACCESS_KEY: string;
}

/** An S3 server of a test. Its data stays in its directory. */
export interface RunningS3 extends BackingServer {
  readonly environment: S3Environment;
  stop(): Promise<void>;
}

/** The test server: Versity's S3 gateway to a folder. */
const program = 'versitygw';
const install = 'go install github.com/versity/versitygw/cmd/versitygw@v1.8.0';

/** Returns why no bucket is available on this machine; undefined if one is. */
export function whyNoS3(): string | undefined {
  if (process.env['S3_ENDPOINT'] || findServer()) return undefined;
  return `no S3_ENDPOINT is set, and no program ${program} is on PATH or in .cache/bin (${install})`;
}

/** Returns the bucket of the server S3_ENDPOINT. Creates the bucket if it does not exist. */
export async function givenS3(): Promise<S3Environment | undefined> {
  const { env } = process;
  if (!env['S3_ENDPOINT']) return undefined;
  const environment: S3Environment = {
    S3_ENDPOINT: env['S3_ENDPOINT'],
    S3_BUCKET: env['S3_BUCKET'] ?? 'headset-cloud-test',
    S3_REGION: env['S3_REGION'] ?? 'us-east-1',
    AWS_ACCESS_KEY_ID: env['AWS_ACCESS_KEY_ID'] ?? '',
    AWS_SECRET_ACCESS_KEY: env['AWS_SECRET_ACCESS_KEY'] ?? '',
  };
  // The server may have just started and not listen yet.
  let failure: unknown;
  const made = () =>
    makeBucket(environment).then(
      () => true,
      (error) => {
        failure = error;
        return false;
      },
    );
  await waitFor('the bucket', made, { timeoutMs: 10_000, intervalMs: 200 }).catch((cause) => {
    throw new Error(
      `The bucket ${environment.S3_BUCKET} at ${environment.S3_ENDPOINT} is not available: ${failure}`,
      {
        cause,
      },
    );
  });
  return environment;
}

/** Starts a server on `dir` with one bucket, and waits until it answers. Throws if the program is missing. */
export async function startS3(dir: string, host = '127.0.0.1'): Promise<RunningS3> {
  const path = findServer();
  if (!path) throw new Error(whyNoS3());
  const address = addressText({ host, port: await freePort() });
  const environment: S3Environment = {
    S3_ENDPOINT: `http://${address}`,
    S3_BUCKET: 'headset-cloud-test',
    S3_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test-access',
    AWS_SECRET_ACCESS_KEY: randomBytes(20).toString('hex'),
  };
  let child = await launch(path, dir, address, environment);
  return {
    environment,
    get pid() {
      return child.pid ?? 0;
    },
    kill: () => end(child, 'SIGKILL'),
    stop: () => end(child, 'SIGTERM'),
    async restart() {
      await end(child, 'SIGTERM');
      child = await launch(path, dir, address, environment);
    },
  };
}

async function launch(
  path: string,
  dir: string,
  address: string,
  environment: S3Environment,
): Promise<ChildProcess> {
  const data = join(dir, 'data');
  mkdirSync(data, { recursive: true });
  const logFile = join(dir, 's3.log');
  const log = openSync(logFile, 'a');
  const args = ['--port', address, '--quiet', 'posix', data];
  const env = {
    PATH: process.env['PATH'] ?? '',
    ROOT_ACCESS_KEY: environment.AWS_ACCESS_KEY_ID,
    ROOT_SECRET_KEY: environment.AWS_SECRET_ACCESS_KEY,
  };
  const child = spawn(path, args, { stdio: ['ignore', log, log], env });
  closeSync(log);
  killAtExit(child);
  let failed: Error | undefined;
  child.once('error', (error) => {
    failed = error;
  });
  try {
    await waitFor(
      `${program} to answer at ${address}`,
      async () => {
        if (failed) throw failed;
        if (child.exitCode !== null)
          throw new Error(`${program} ended:\n${readFileSync(logFile, 'utf8').slice(-2000)}`);
        return makeBucket(environment).then(
          () => true,
          () => false,
        );
      },
      { timeoutMs: 20_000, intervalMs: 50 },
    );
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return child;
}

/** Creates the bucket if it does not exist. */
export function makeBucket(environment: S3Environment): Promise<void> {
  return createBucket({
    endpoint: environment.S3_ENDPOINT,
    bucket: environment.S3_BUCKET,
    region: environment.S3_REGION,
    accessKeyId: environment.AWS_ACCESS_KEY_ID,
    secretAccessKey: environment.AWS_SECRET_ACCESS_KEY,
  });
}

async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  const killTimer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await ended;
  clearTimeout(killTimer);
}

/** Path of the server: on PATH, or in TOOLS_CACHE (.cache/bin), where .ci/run installs it. */
function findServer(): string | undefined {
  return findProgram(program, [process.env['TOOLS_CACHE'] || join(root, '.cache', 'bin')]);
}
