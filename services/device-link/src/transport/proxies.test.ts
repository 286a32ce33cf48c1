import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as http2 } from 'node:http2';
import { BlockList, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as tls } from 'node:tls';
import { RpcServer } from '@headset-cloud/rpc/grpc.ts';
import { ConfigError } from '@headset-cloud/runtime/config.ts';
import { Connections, type RejectionReason } from '@headset-cloud/runtime/listeners/connections.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createAuthority } from '@headset-cloud/runtime/testing/authority.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { Registry } from 'prom-client';
import { wantsProxyHeader } from '../config.ts';
import { openHeadsetTls } from './tls.ts';

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const logger = createLogger({ level: 'silent' });
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
const nobody = new BlockList();

interface Listener {
  readonly port: number;
  readonly rejected: RejectionReason[];
  readonly connections: Connections;
  /** Of the certificate; undefined: the listener speaks plaintext. */
  readonly ca: string | undefined;
}

/** The headsets' port behind `proxies`; allows two connections per address, and replaces idle ones at once. */
async function open(withTls: boolean, proxies = loopback): Promise<Listener> {
  const rejected: RejectionReason[] = [];
  const connections = new Connections({ most: 100, mostOfAddress: 2, proxies }, (why) => rejected.push(why));
  const listener = { connections, proxyHeader: true };
  const { ca, security } = withTls
    ? await secured(connections)
    : { ca: undefined, security: { mode: 'plaintext' as const, connections } };
  const server = new RpcServer([], logger, {}, undefined, { ...security, ...listener });
  const port = await server.start({ host: '127.0.0.1', port: 0 });
  closing.push(() => server.stop(0));
  return { port, rejected, connections, ca };
}

async function secured(connections: Connections) {
  const folder = mkdtempSync(join(tmpdir(), 'headset-proxies-'));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  const authority = await createAuthority('test');
  const { cert, key } = await authority.issue(['localhost']);
  const files = {
    DEVICE_LINK_TLS_CERT_FILE: join(folder, 'tls.crt'),
    DEVICE_LINK_TLS_KEY_FILE: join(folder, 'tls.key'),
  };
  writeFileSync(files.DEVICE_LINK_TLS_CERT_FILE, cert);
  writeFileSync(files.DEVICE_LINK_TLS_KEY_FILE, key);
  const security = openHeadsetTls(files, { logger, metrics: new Registry(), connections });
  if (!security) throw new Error('no TLS');
  return { ca: authority.ca, security };
}

/** Connects like a proxy that writes `header` first; resolves when HTTP/2 works, rejects on a closed connection. */
async function through({ port, ca }: Listener, header: string): Promise<ClientHttp2Session> {
  const socket: Socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  closing.push(() => void socket.destroy());
  socket.write(header);
  const session = http2(ca ? 'https://localhost' : 'http://localhost', {
    createConnection: () =>
      ca ? tls({ socket, ca, servername: 'localhost', ALPNProtocols: ['h2'] }) : socket,
  });
  session.on('error', () => {});
  closing.push(() => session.destroy());
  await new Promise<void>((resolve, reject) => {
    // A server sends its settings before it reads anything.
    session.once('connect', () => session.ping((error) => error === null && resolve()));
    session.once('close', () => reject(new Error('the connection was closed')));
  });
  return session;
}

const client = (address: string) => `PROXY TCP4 ${address} 198.51.100.1 56324 7443\r\n`;

describe.each([
  ['with TLS', true],
  ['without TLS', false],
])('behind a proxy, %s', (_, withTls) => {
  test('a headset is counted by the address that the PROXY header names', async () => {
    const listener = await open(withTls);
    const first = await through(listener, client('192.0.2.7'));
    // The address in log lines about its streams.
    expect(listener.connections.addressOf(`127.0.0.1:${first.socket.localPort}`)).toBe('192.0.2.7');
    await through(listener, client('192.0.2.7'));
    // Both are too young to be replaced.
    await expect(through(listener, client('192.0.2.7'))).rejects.toThrow('closed');
    expect(listener.rejected).toEqual(['address']);
    const other = await through(listener, client('192.0.2.8'));
    expect(listener.connections.size).toBe(3);
    other.close();
    await waitFor('the removal of the connection', () => listener.connections.size === 2);
  });

  // protects against headsets/address-spoofed
  test("a proxy's own connection counts for no address, and a connection without a header is closed", async () => {
    const listener = await open(withTls);
    for (let i = 0; i < 4; i++) await through(listener, 'PROXY UNKNOWN\r\n');
    expect(listener.connections.size).toBe(4);
    await expect(through(listener, '')).rejects.toThrow('closed');
    await expect(through(listener, client('a.b.c.d'))).rejects.toThrow('closed');
    await waitFor('the removal of these connections', () => listener.connections.size === 4);
    expect(listener.rejected).toEqual([]);
  });

  // protects against headsets/address-spoofed
  test('an untrusted client connects without a header, and cannot name an address', async () => {
    const listener = await open(withTls, nobody);
    await through(listener, '');
    await expect(through(listener, client('192.0.2.9'))).rejects.toThrow('closed');
  });
});

test('the start fails if headers are required but no proxy is trusted', () => {
  const wanted = { DEVICE_LINK_PROXY_PROTOCOL: true };
  expect(() => wantsProxyHeader(wanted, { proxies: nobody })).toThrow(ConfigError);
  expect(wantsProxyHeader(wanted, { proxies: loopback })).toBe(true);
  expect(wantsProxyHeader({ DEVICE_LINK_PROXY_PROTOCOL: false }, { proxies: nobody })).toBe(false);
});
