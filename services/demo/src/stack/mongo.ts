import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { addressText } from '@headset-cloud/runtime/config.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { MongoClient } from 'mongodb';
import { freePort } from './ports.ts';
import { killAtExit } from './process.ts';
import { findProgram } from './programs.ts';

/** A MongoDB server of a test. Its data stays in its directory. */
export interface RunningMongo {
  readonly uri: string;
  readonly pid: number;
  /** Stops the server gracefully. */
  stop(): Promise<void>;
  /** Kills the server (SIGKILL) and returns at once. */
  kill(): void;
}

/** The test server: SecantusDB, an implementation of MongoDB's protocol on MongoDB's storage engine. */
const program = 'secantusd-rs';
const maxAttempts = 3;

/** Returns what `startMongo` needs and this machine lacks; undefined if nothing. */
export function whyNoMongo(): string | undefined {
  if (findProgram(program)) return undefined;
  return `no MONGODB_URI is set, and no program ${program} is on PATH (cargo install secantus-mdb)`;
}

/**
 * Starts a server on `directory` and waits until it answers. Default of `port`: the system chooses. With `auth`,
 * clients must log in after the first user is created. Throws if the program is missing or does not start.
 */
export async function startMongo(
  directory: string,
  port?: number,
  { host = '127.0.0.1', auth = false } = {},
): Promise<RunningMongo> {
  const path = findProgram(program);
  if (!path) throw new Error(whyNoMongo());
  mkdirSync(directory, { recursive: true });
  let failure: unknown;
  for (let i = 0; i < maxAttempts; i++) {
    // Another process may take the port between the choice and the start: the next attempt chooses another port. At a
    // restart, the killed process may still lock the directory.
    const chosen = port ?? (await freePort());
    try {
      return await start(path, directory, host, chosen, auth ? ['--auth'] : []);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

async function start(
  path: string,
  directory: string,
  host: string,
  port: number,
  more: readonly string[],
): Promise<RunningMongo> {
  const options = ['--host', host, '--port', String(port), '--storage-path', directory, '--sync-on-commit'];
  const child = spawn(path, [...options, '--cache-size', '256M', ...more], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  killAtExit(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-4000);
    });
  }
  let failed: Error | undefined;
  child.once('error', (error) => {
    failed = error;
  });
  const uri = `mongodb://${addressText({ host, port })}/?directConnection=true`;
  try {
    await waitFor(
      `${program} to answer on port ${port}`,
      () => {
        if (failed) throw failed;
        if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}:\n${output}`);
        return answers(uri);
      },
      { timeoutMs: 20_000, intervalMs: 50 },
    );
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return {
    uri,
    pid: child.pid as number,
    stop: () => stop(child),
    kill: () => void child.kill('SIGKILL'),
  };
}

async function answers(uri: string): Promise<boolean> {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 500, connectTimeoutMS: 500 });
  try {
    await client.db('admin').command({ hello: 1 });
    return true;
  } catch {
    return false;
  } finally {
    await client.close();
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const killTimer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await ended;
  clearTimeout(killTimer);
}
