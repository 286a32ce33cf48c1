import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { type RunningMongo, startMongo, whyNoMongo } from '@headset-cloud/demo/stack/mongo.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createStartUp } from '@headset-cloud/runtime/start-up.ts';
import { type Authority, createAuthority, type Issued } from '@headset-cloud/runtime/testing/authority.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { connectMongo, openMongo } from '@headset-cloud/store/mongo.ts';
import { MongoClient } from 'mongodb';
import { describeUnless } from '../support/skip.ts';

const password = 'the-password-of-cloud';

/**
 * MongoDB with TLS and authentication by MONGODB_URI. The server of the tests has no TLS, so a relay of the test
 * terminates TLS.
 */
describeUnless(whyNoMongo(), 'MongoDB by TLS and log-in', () => {
  let folder: string;
  let mongo: RunningMongo;
  let authority: Authority;
  const relays: Server[] = [];
  const ports = { good: 0, expired: 0, misnamed: 0 };

  /** Ends TLS in front of the server. */
  async function relay({ cert, key }: Issued): Promise<number> {
    const to = Number(new URL(mongo.uri).port);
    const server = createServer({ cert, key }, (socket) => {
      const upstream = connect(to, '127.0.0.1');
      for (const [one, other] of [
        [socket, upstream],
        [upstream, socket],
      ] as const) {
        one.pipe(other);
        one.on('error', () => other.destroy());
      }
    });
    server.on('tlsClientError', () => {});
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    relays.push(server);
    return (server.address() as AddressInfo).port;
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mongo-security-'));
    mongo = await startMongo(join(folder, 'mongo'), undefined, { auth: true });
    const client = new MongoClient(mongo.uri);
    await client
      .db('admin')
      .command({ createUser: 'cloud', pwd: password, roles: [{ role: 'root', db: 'admin' }] });
    await client.close();
    authority = await createAuthority('the database’s authority');
    writeFileSync(join(folder, 'ca.crt'), authority.ca);
    writeFileSync(join(folder, 'other.crt'), (await createAuthority('another authority')).ca);
    ports.good = await relay(await authority.issue(['localhost']));
    const past = { fromMs: Date.UTC(2020, 0), untilMs: Date.UTC(2020, 1) };
    ports.expired = await relay(await authority.issue(['localhost'], past));
    ports.misnamed = await relay(await authority.issue(['mongo.example.com']));
  });
  afterAll(async () => {
    for (const server of relays) server.close();
    await mongo?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const uri = (listener: keyof typeof ports, { ca = 'ca.crt', pass = password } = {}) =>
    `mongodb://cloud:${pass}@localhost:${ports[listener]}/?directConnection=true&tls=true&tlsCAFile=${join(folder, ca)}`;

  it('reads and writes', async () => {
    const connection = await connectMongo({ uri: uri('good'), appName: 'contract', databasePrefix: 'tls-' });
    try {
      const things = connection.database('one').collection<{ _id: number }>('things');
      await things.insertOne({ _id: 1 });
      expect(await things.countDocuments({ _id: 1 })).toBe(1);
      expect(connection.notReady()).toBeUndefined();
    } finally {
      await connection.close();
    }
  });

  // protects against stores/mongodb
  it.each<[string, keyof typeof ports, { ca?: string; pass?: string }, RegExp]>([
    ['an expired certificate', 'expired', {}, /certificate has expired/],
    ['a certificate of another name', 'misnamed', {}, /not in the cert's altnames: DNS:mongo\.example\.com/],
    [
      'an unknown authority',
      'good',
      { ca: 'other.crt' },
      /unable to (get local issuer|verify the first) certificate|self-signed/,
    ],
  ])('says why it is not ready: %s', async (_, listener, more, reason) => {
    // Like the start of a service: it lives, is not ready, and reports what it waits for.
    const startUp = createStartUp(createLogger({ level: 'silent' }));
    const connection = openMongo({
      uri: uri(listener, more),
      appName: 'contract',
      whenReachable: startUp.retry,
    });
    const waiting = connection.database('one').whenReachable?.('the database', async () => {});
    const stopped = expect(waiting).rejects.toThrow('stopped before the start was complete');
    try {
      await waitFor('the reason', () => reason.test(startUp.waitsFor() ?? ''));
    } finally {
      startUp.stop();
      await stopped;
      await connection.close();
    }
  });

  it('reports a wrong password, and does not show it', async () => {
    const wrong = connectMongo({ uri: uri('good', { pass: 'another-password' }), appName: 'contract' });
    const error = await wrong.then(
      () => undefined,
      (e: Error) => e,
    );
    expect(String(error)).toMatch(/[Aa]uthentication failed/);
    expect(JSON.stringify({ error, message: error?.message, stack: error?.stack })).not.toContain(
      'another-password',
    );
  });
});
