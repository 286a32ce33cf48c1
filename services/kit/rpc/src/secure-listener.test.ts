import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { BlockList, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { connect as connectTls, createSecureContext } from 'node:tls';
import { Server } from '@grpc/grpc-js';
import { systemTime } from '@headset-cloud/runtime/clock.ts';
import { Connections } from '@headset-cloud/runtime/listeners/connections.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { ago } from '@headset-cloud/runtime/testing/ago.ts';
import { type Authority, createAuthority, type Issued } from '@headset-cloud/runtime/testing/authority.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { openCertificateFiles } from '@headset-cloud/runtime/tls/certificate-files.ts';
import { pino } from 'pino';
import { type HandshakeLimits, SecureListener } from './secure-listener.ts';

let authority: Authority;
let issued: Issued;
let folder: string;
const closing: (() => void)[] = [];

beforeAll(async () => {
  authority = await createAuthority('test');
  issued = await authority.issue(['localhost']);
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'secure-listener-'));
});
afterEach(() => {
  for (const close of closing.splice(0).reverse()) close();
  rmSync(folder, { recursive: true, force: true });
});

type Mode = 'server' | 'required' | 'permissive';

/** Opens a port with these limits; returns it with its log lines and the counted failures. */
async function open(mode: Mode, limits: Partial<HandshakeLimits>, time = systemTime) {
  const output = new PassThrough();
  let text = '';
  output.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const logger = pino({ level: 'debug' }, output) as unknown as Logger;
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content);
    return { setting: name, path: join(folder, name) };
  };
  const files = openCertificateFiles({
    cert: file('tls.crt', issued.cert),
    key: file('tls.key', issued.key),
    ca: file('ca.crt', authority.ca),
    logger,
  });
  let failures = 0;
  const handshakeFailed = () => {
    failures += 1;
  };
  const server = new Server();
  const listener = new SecureListener(
    server,
    mode === 'server'
      ? { mode, files, observe: { handshakeFailed }, connections: anyNumber() }
      : {
          ...{ mode, files, domain: 'test.internal' },
          observe: {
            ...{ handshakeFailed, callRefused: () => {}, plaintextAccepted: () => {} },
            clientHandshakeFailed: () => {},
          },
        },
    logger,
    limits,
    time,
  );
  const port = await listener.listen({ host: '127.0.0.1', port: 0 });
  closing.push(() => {
    void listener.close();
    server.forceShutdown();
  });
  const lines = () => text.split('\n').filter((line) => line.includes('failed in its TLS handshake'));
  return { port, failures: () => failures, lines };
}

const anyNumber = () => new Connections({ most: 1000, mostOfAddress: 1000, proxies: new BlockList() });

/** A connection that sends `bytes` and nothing more. */
async function silent(port: number, bytes: Buffer = Buffer.alloc(0)): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  closing.push(() => socket.destroy());
  socket.on('error', () => {});
  socket.resume();
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

/** A service that has completed its handshake. */
async function service(port: number): Promise<Socket> {
  const { cert, key } = issued;
  const socket = connectTls({ host: 'localhost', port, cert, key, ca: authority.ca, ALPNProtocols: ['h2'] });
  closing.push(() => socket.destroy());
  socket.on('error', () => {});
  socket.resume();
  await once(socket, 'secureConnect');
  return socket;
}

/** The head of a TLS handshake record that is never completed. */
const begun = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]);

// protects against services/half-handshakes
describe('a handshake that does not begin, or does not end, is disconnected', () => {
  for (const mode of ['server', 'required', 'permissive'] as const) {
    test(mode, async () => {
      const { port, lines } = await open(mode, { withinMs: 1000 });
      const inside = await service(port);
      const sockets = [await silent(port), await silent(port, begun)];
      await waitFor('the end of both', () => sockets.every(({ closed }) => closed));
      expect(lines().length).toBeLessThanOrEqual(1);
      expect(inside.closed).toBe(false);
    });
  }
});

test('all failed handshakes are counted, and a rate-limited log line has their number', async () => {
  const time = createFakeTime();
  const { port, failures, lines } = await open('required', { logEveryMs: 500 }, time);
  for (let i = 0; i < 20; i++) await silent(port, Buffer.from('no TLS at all\r\n\r\n'));
  await waitFor('the failures', () => failures() === 20);
  expect(lines()).toHaveLength(1);
  await time.advance(500);
  await waitFor('one more line', () => lines().length === 2);
  expect(JSON.parse(lines()[1] ?? '').count).toBe(19);
});

// protects against services/no-certificate
describe('a peer with a rejected certificate gets no answer, and the log has the reason and the address', () => {
  const hourMs = 3_600_000;
  const cases: Record<string, { reason: string; shows: () => Promise<Issued | undefined> }> = {
    'no certificate': {
      reason: 'the peer showed no certificate',
      shows: async () => undefined,
    },
    'an expired one': {
      reason: 'the certificate of the peer has expired',
      shows: () => authority.issue(['gateway.test.internal'], { untilMs: ago(hourMs) }),
    },
    'a certificate that is not valid yet': {
      reason: 'the certificate of the peer is not valid yet',
      shows: () => authority.issue(['gateway.test.internal'], { fromMs: Date.now() + hourMs }),
    },
    'one of another authority': {
      reason: 'the certificate of the peer is of another authority',
      shows: async () => (await createAuthority('another')).issue(['gateway.test.internal']),
    },
  };
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    for (const mode of ['required', 'permissive'] as const) {
      test.each(Object.entries(cases))(`%s, by ${version}, ${mode}`, async (_, { reason, shows }) => {
        const { port, failures, lines } = await open(mode, {});
        const shown = await shows();
        const { received } = await greeted(port, version, shown);
        expect(received).toBe(0);
        await waitFor('the line', () => lines().length === 1);
        expect(failures()).toBe(1);
        const line = JSON.parse(lines()[0] ?? '');
        expect(line).toMatchObject({ reason, peer: '127.0.0.1' });
        if (shown) expect(line).toMatchObject({ certificate: 'DNS:gateway.test.internal' });
        // A peer with a valid certificate is served: only the certificate makes the difference.
        expect((await greeted(port, version, issued)).received).toBeGreaterThan(0);
      });
    }
  }
});

test('a peer that rejects the certificate of this process is logged with its address', async () => {
  const { port, lines } = await open('required', {});
  const { ca } = await createAuthority('another');
  expect((await greeted(port, 'TLSv1.3', issued, ca)).received).toBe(0);
  await waitFor('the line', () => lines().length === 1);
  expect(JSON.parse(lines()[0] ?? '')).toMatchObject({
    reason: "the peer ended the connection: it may not accept this process's certificate",
    peer: '127.0.0.1',
  });
});

// protects against services/no-certificate
test.each(['TLSv1.2', 'TLSv1.3'] as const)(
  'a peer without a certificate is not accepted with a session that it kept, by %s',
  async (version) => {
    const { port, failures } = await open('required', {});
    const first = await greeted(port, version, undefined);
    expect(first.received).toBe(0);
    const { received } = await greeted(port, version, undefined, authority.ca, first.session);
    expect(received).toBe(0);
    await waitFor('both failures', () => failures() === 2);
  },
);

// protects against services/renegotiation
test('a peer cannot present another certificate after its first was accepted', async () => {
  const { port } = await open('required', {});
  const socket = connectTls({
    ...{ host: 'localhost', port, ca: authority.ca, maxVersion: 'TLSv1.2', ALPNProtocols: ['h2'] },
    ...{ cert: issued.cert, key: issued.key },
  });
  closing.push(() => socket.destroy());
  socket.resume();
  await once(socket, 'secureConnect');
  const { cert, key } = await (await createAuthority('another')).issue(['gateway.test.internal']);
  socket.setKeyCert(createSecureContext({ cert, key }));
  const renegotiated = await new Promise((resolve) => {
    socket.on('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.renegotiate({}, (error) => resolve(error === null));
  });
  expect(renegotiated).toBe(false);
});

/**
 * Number of bytes that a peer with this certificate receives: a server that accepts a connection sends HTTP/2 first.
 */
function greeted(
  port: number,
  version: 'TLSv1.2' | 'TLSv1.3',
  shown: Issued | undefined,
  ca = authority.ca,
  kept?: Buffer,
): Promise<{ received: number; session: Buffer | undefined }> {
  return new Promise((resolve) => {
    const socket = connectTls({
      ...{ host: 'localhost', port, ca, minVersion: version, maxVersion: version, ALPNProtocols: ['h2'] },
      ...(shown && { cert: shown.cert, key: shown.key }),
      ...(kept && { session: kept }),
    });
    let received = 0;
    let session: Buffer | undefined;
    socket.on('session', (newest: Buffer) => {
      session = newest;
    });
    socket.once('secureConnect', () => {
      session ??= socket.getSession();
    });
    socket.on('error', () => {});
    socket.once('data', (bytes: Buffer) => {
      received = bytes.length;
      socket.destroy();
    });
    socket.once('close', () => resolve({ received, session }));
  });
}

// protects against services/half-handshakes
describe('between services, a new handshake replaces the oldest handshake in progress at the limit', () => {
  for (const mode of ['required', 'permissive'] as const) {
    test(mode, async () => {
      const { port } = await open(mode, { most: 3 });
      const inside = [await service(port), await service(port)];
      const sockets: Socket[] = [];
      for (let i = 0; i < 5; i++) sockets.push(await silent(port, i % 2 ? begun : undefined));
      await waitFor(
        'the end of the oldest handshakes',
        () => sockets.filter(({ closed }) => closed).length === 2,
      );
      expect(sockets.map(({ closed }) => closed)).toEqual([true, true, false, false, false]);
      inside.push(await service(port));
      await waitFor('the end of the next oldest handshake', () => sockets[2]?.closed);
      expect(sockets.slice(3).map(({ closed }) => closed)).toEqual([false, false]);
      expect(inside.map(({ closed }) => closed)).toEqual([false, false, false]);
    });
  }
});
