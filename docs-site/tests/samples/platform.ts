import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { startTunnel, type Tunnel } from './tunnel.ts';

const root = resolve(import.meta.dirname, '../../..');

/** Reader values: demo.json of `make up`. */
type Demo = Readonly<Record<string, string>>;

/** A separate platform for the test, started with `make up` and configured as operators do. */
export interface Platform {
  /** Port on which the servers of samples listen. */
  readonly port: number;
  /** Settings for the Sora simulator. */
  readonly sora: { readonly endpointId: string; readonly secret: string; readonly webhookUrl: string };
  /** Sets the address from which the platform reads the recorded files of the Sora endpoint. */
  archivesAt(url: string): Promise<void>;
  /**
   * Resets the application to the state of a new reader: a new key, only `deviceEvent` set. With `givenUp`, the
   * platform has also given up the two callbacks of a command. Returns the reader values.
   */
  renew(options?: { readonly givenUp?: boolean }): Promise<Readonly<Record<string, string>>>;
  stop(): Promise<void>;
}

const startMs = 300_000;
const adminOffset = 1020;
const soraOffset = 5;

export async function startPlatform(): Promise<Platform> {
  const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-samples-up-'));
  const tunnel = await startTunnel();
  let up: ChildProcess | undefined;
  const stop = async (): Promise<void> => {
    await end(up);
    await tunnel.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const first = await freeRange();
    up = await makeUp(first, folder);
    const secret = randomBytes(24).toString('hex');
    const addEndpoint = await addSora(`http://127.0.0.1:${first + adminOffset}`, folder, secret);
    const demo = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as Demo;
    return {
      port: tunnel.port,
      sora: { endpointId: 'sora-1', secret, webhookUrl: `http://127.0.0.1:${first + soraOffset}` },
      archivesAt: (url) => addEndpoint('--archive-url', url),
      renew: async ({ givenUp = false } = {}) => {
        const values = await renew(demo, tunnel);
        if (givenUp) await giveUpCallbacks(demo, tunnel);
        return values;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts `make up`. Resolves when the platform is ready: after the callback of its first command. */
function makeUp(port: number, folder: string): Promise<ChildProcess> {
  const args = ['--no-print-directory', 'up', `PORT=${port}`, `DATA_DIR=${folder}`];
  const child = spawn('make', args, { cwd: root, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  endWithTest(child, folder);
  return new Promise((done, reject) => {
    let text = '';
    const fail = (reason: string) => reject(new Error(`make up ${reason}:\n${text}`));
    const timer = setTimeout(() => {
      void end(child);
      fail(`was not ready within ${startMs / 1000} s`);
    }, startMs);
    const read = (piece: Buffer): void => {
      text += piece;
      if (!text.includes('Ctrl-C stops everything')) return;
      clearTimeout(timer);
      done(child);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      clearTimeout(timer);
      fail(`ended with ${signal ?? code}`);
    });
  });
}

/** Kills the platform and deletes its data when the test process exits. */
function endWithTest(child: ChildProcess, folder: string): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  process.once('exit', () => {
    if (!child.pid || child.exitCode !== null || child.signalCode !== null) return;
    process.kill(-child.pid, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
}

/** Sends SIGINT to the process group, as Ctrl-C does, and waits for its end. */
async function end(child: ChildProcess | undefined): Promise<void> {
  if (!child?.pid || child.exitCode !== null || child.signalCode !== null) return;
  const { pid } = child;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  process.kill(-pid, 'SIGINT');
  await ended;
}

type Endpoint = (...more: string[]) => Promise<void>;

/** Adds two Sora endpoints with the versions that the guides show. Returns a function that changes the first one. */
async function addSora(admin: string, folder: string, secret: string): Promise<Endpoint> {
  const secretFile = join(folder, 'sora.secret');
  writeFileSync(secretFile, secret, { mode: 0o600 });
  const ctl = async (...args: string[]): Promise<void> => {
    const command = [join(root, 'services/ctl/src/main.ts'), '--admin', admin, 'sora', ...args];
    await promisify(execFile)(process.execPath, command, { cwd: root });
  };
  const endpoint =
    (id: string, host: string, version: string): Endpoint =>
    (...more) =>
      ctl(
        ...['endpoints', 'put', id, '--signaling-url', `wss://${host}/signaling`, '--sora-version', version],
        ...['--limit', '100', '--secret-file', secretFile, ...more],
      );
  const first = endpoint('sora-1', 'sora.example.com', '2025.1.0');
  await first();
  await endpoint('sora-2', 'sora-2.example.com', '2024.2.1')();
  await ctl('default-version', '2025.1.0');
  return first;
}

const nothingSet = {
  remoteSupportEvent: null,
  soraEvent: null,
  soraFileSendEvent: null,
  soraRecGetPresignedUrl: null,
  soraRecGetMultiPresignedUrl: null,
  fileUploadEvent: null,
  fileUploadGetUrl: null,
};

/** Returns a function that calls the API as the application, with the given scopes. */
export async function callsOf<T = Record<string, string>>(values: Demo, scope: string) {
  const { apiUrl, tokenUrl = '', clientId, clientSecret, applicationId } = values;
  const issued = await fetch(tokenUrl, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
  });
  const { access_token } = (await issued.json()) as { access_token: string };
  return async (method: string, path: string, body?: object): Promise<T> => {
    const answer = await fetch(`${apiUrl}/v1/applications/${applicationId}${path}`, {
      method,
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  };
}

async function renew(demo: Demo, tunnel: Tunnel): Promise<Record<string, string>> {
  const call = await callsOf(demo, 'cws:application:write');
  await call('PATCH', '', { ...nothingSet, deviceEvent: tunnel.url });
  const { authenticationKey = '' } = await call('POST', '/refresh_authkey');
  tunnel.keys = [authenticationKey];
  return { ...demo, integratorUrl: tunnel.url, authenticationKey };
}

/** Makes the platform give up the callbacks of a command. */
async function giveUpCallbacks(demo: Demo, tunnel: Tunnel): Promise<void> {
  const call = await callsOf<{
    readonly transactionId?: number;
    readonly deliveries?: readonly { readonly state: string }[];
  }>(demo, 'cws:application:read cws:device:write');
  tunnel.givesUp = true;
  try {
    const body = { package: 'com.example.app', launchType: 'activity' };
    const { transactionId } = await call('PUT', `/devices/${demo['deviceId']}/commands`, body);
    await waitFor('the callbacks of a command to be given up', async () => {
      const { deliveries = [] } = await call('GET', `/deliveries?transactionId=${transactionId}`);
      return deliveries.length === 2 && deliveries.every(({ state }) => state === 'dead');
    });
  } finally {
    tunnel.givesUp = false;
  }
}

/** Finds the first of the ports for `make up`: six consecutive ports and the admin port. */
async function freeRange(): Promise<number> {
  for (let first = 20_000 + 10 * (process.pid % 2000); first < 60_000; first += 10) {
    const wanted = [0, 1, 2, 3, 4, 5, adminOffset].map((offset) => first + offset);
    const free = await Promise.all(wanted.map(isFree));
    if (!free.includes(false)) return first;
  }
  throw new Error('no free ports for make up');
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
