import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as http2 } from 'node:http2';
import { BlockList } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { connect, type TLSSocket } from 'node:tls';
import { RpcServer } from '@headset-cloud/rpc/grpc.ts';
import type { ConfigError } from '@headset-cloud/runtime/config.ts';
import { Connections } from '@headset-cloud/runtime/listeners/connections.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { type Authority, createAuthority, type Issued } from '@headset-cloud/runtime/testing/authority.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { openHeadsetTls } from './tls.ts';

const anyNumber = () => new Connections({ most: 1000, mostOfAddress: 1000, proxies: new BlockList() });

let authority: Authority;
let one: Issued;
let other: Issued;
let folder: string;
const closing: (() => Promise<void> | void)[] = [];

beforeAll(async () => {
  authority = await createAuthority('test');
  one = await authority.issue(['localhost', '127.0.0.1']);
  other = await authority.issue(['localhost', '127.0.0.1']);
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headset-tls-'));
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

/** Changes the files like Kubernetes: a new folder, and a symbolic link that replaces the old one. */
function mount({ cert, key }: Issued, revision: string): void {
  mkdirSync(join(folder, revision));
  writeFileSync(join(folder, revision, 'tls.crt'), cert);
  writeFileSync(join(folder, revision, 'tls.key'), key);
  symlinkSync(revision, join(folder, 'next'));
  renameSync(join(folder, 'next'), join(folder, 'data'));
}

const files = () => ({
  DEVICE_LINK_TLS_CERT_FILE: join(folder, 'data/tls.crt'),
  DEVICE_LINK_TLS_KEY_FILE: join(folder, 'data/tls.key'),
});

/** The headsets' port with the mounted certificate: its port, log and metrics. */
async function open() {
  const output = new PassThrough();
  let lines = '';
  output.on('data', (chunk: Buffer) => {
    lines += chunk.toString();
  });
  const logger = pino({ level: 'debug' }, output) as unknown as Logger;
  const metrics = new Registry();
  const tls = openHeadsetTls(files(), { logger, metrics, everyMs: 20, connections: anyNumber() });
  const server = new RpcServer([], logger, {}, undefined, tls);
  const port = await server.start({ host: '127.0.0.1', port: 0 });
  closing.push(() => server.stop(0));
  return { port, metrics, lines: () => lines };
}

async function session(port: number): Promise<{ session: ClientHttp2Session; serial: string }> {
  const opened = http2(`https://127.0.0.1:${port}`, { ca: authority.ca });
  closing.push(() => opened.destroy());
  await new Promise((resolve, reject) => {
    opened.once('connect', resolve);
    opened.once('error', reject);
  });
  return { session: opened, serial: (opened.socket as TLSSocket).getPeerCertificate().serialNumber };
}

const ping = (on: ClientHttp2Session) =>
  new Promise<void>((resolve, reject) => {
    on.ping((error) => (error ? reject(error) : resolve()));
  });

/** Returns the negotiated protocol and TLS version; a string: why the handshake failed. */
function handshake(
  port: number,
  options: object,
): Promise<{ alpn: string | false | null; version: string | null } | string> {
  return new Promise((resolve) => {
    const socket = connect(
      { host: '127.0.0.1', port, ca: authority.ca, ALPNProtocols: ['h2'], ...options },
      () => {
        resolve({ alpn: socket.alpnProtocol, version: socket.getProtocol() });
        socket.destroy();
      },
    );
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

// protects against headsets/plaintext
test('TLS 1.2 and 1.3 negotiate h2; older versions, other protocols and plaintext are refused and counted', async () => {
  mount(one, 'r1');
  const { port, metrics } = await open();
  expect(await handshake(port, {})).toEqual({ alpn: 'h2', version: 'TLSv1.3' });
  expect(await handshake(port, { maxVersion: 'TLSv1.2' })).toEqual({ alpn: 'h2', version: 'TLSv1.2' });
  // Only with this cipher setting does the client offer the old version.
  const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
  expect(await handshake(port, old)).toEqual(expect.stringContaining('VERSION'));
  expect(await handshake(port, { ALPNProtocols: ['http/1.1'] })).toEqual(expect.any(String));
  const plain = http2(`http://127.0.0.1:${port}`);
  closing.push(() => plain.destroy());
  await new Promise<void>((resolve) => {
    plain.on('error', () => {});
    plain.once('close', resolve);
  });
  await waitFor('the failures to be counted', async () =>
    /headset_link_handshakes_failed_total [1-9]/.test(await metrics.metrics()),
  );
  expect(await metrics.metrics()).toMatch(/headset_link_certificate_expiry_timestamp_seconds \d{10}/);
});

test('a changed certificate is used for new connections; the open ones continue', async () => {
  mount(one, 'r1');
  const { port, lines } = await open();
  const before = await session(port);
  mount(other, 'r2');
  await waitFor('the certificate to be read', () => lines().includes('has been read again'));
  const after = await session(port);
  expect(after.serial).not.toBe(before.serial);
  await ping(before.session);
});

test('an invalid new certificate is logged, and the previous certificate stays in use', async () => {
  mount(one, 'r1');
  const { port, lines } = await open();
  const before = await session(port);
  mount({ cert: other.cert, key: one.key }, 'r2');
  await waitFor('the reason in the log', () => lines().includes('does not belong to the certificate'));
  expect((await session(port)).serial).toBe(before.serial);
});

test('a start with invalid files names the setting and the reason', () => {
  const problem = (config: object) => {
    try {
      openHeadsetTls(config as ReturnType<typeof files>, {
        logger: pino({ level: 'silent' }) as unknown as Logger,
        metrics: new Registry(),
        connections: anyNumber(),
      });
    } catch (error) {
      return (error as ConfigError).problems[0];
    }
    return undefined;
  };
  expect(problem(files())).toEqual({
    setting: 'DEVICE_LINK_TLS_CERT_FILE',
    reason: expect.stringContaining('cannot be read'),
  });
  mount({ cert: other.cert, key: one.key }, 'r1');
  expect(problem(files())).toEqual({
    setting: 'DEVICE_LINK_TLS_KEY_FILE',
    reason: expect.stringContaining('does not belong to the certificate'),
  });
  const { DEVICE_LINK_TLS_CERT_FILE } = files();
  expect(problem({ DEVICE_LINK_TLS_CERT_FILE })).toEqual({
    setting: 'DEVICE_LINK_TLS_KEY_FILE',
    reason: expect.stringContaining('DEVICE_LINK_TLS_KEY_FILE is missing'),
  });
  expect(problem({})).toBeUndefined();
});
