import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningMongo, startMongo, whyNoMongo } from '@headset-cloud/demo/stack/mongo.ts';
import { freePorts } from '@headset-cloud/demo/stack/ports.ts';
import { type ManagedProcess, manageProcess } from '@headset-cloud/demo/stack/process.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { MongoClient } from 'mongodb';
import { request } from 'undici';
import { describeUnless } from '../support/skip.ts';

/** A service that reads its MongoDB user from a Secret's file. The test needs no broker. */
describeUnless(whyNoMongo(), 'a rotated password of MongoDB', () => {
  let folder: string;
  let mongo: RunningMongo;
  let service: ManagedProcess;
  let adminUrl: string;
  let secretFile: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-rotated-'));
    mongo = await startMongo(join(folder, 'mongo'), undefined, { auth: true });
    const client = new MongoClient(mongo.uri);
    await client
      .db('admin')
      .command({ createUser: 'cloud', pwd: 'the-new-password', roles: [{ role: 'root', db: 'admin' }] });
    await client.close();
    const [grpc, admin, kafka] = await freePorts(3);
    adminUrl = `http://127.0.0.1:${admin}`;
    secretFile = join(folder, 'mongodb-uri');
    service = manageProcess({
      name: 'billing',
      entry: 'services/billing/src/main.ts',
      env: {
        MONGODB_URI_FILE: secretFile,
        KAFKA_BROKERS: `127.0.0.1:${kafka}`,
        GRPC_LISTEN: `127.0.0.1:${grpc}`,
        ADMIN_LISTEN: `127.0.0.1:${admin}`,
      },
      logFile: join(folder, 'billing.log'),
    });
  });
  afterAll(async () => {
    await service?.kill();
    await mongo?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const putSecret = (password: string) =>
    writeFileSync(secretFile, mongo.uri.replace('mongodb://', `mongodb://cloud:${password}@`));
  const readyz = async () => {
    try {
      return await (await request(`${adminUrl}/readyz`)).body.text();
    } catch {
      return '';
    }
  };

  it('makes the service not ready, with the reason; the service lives, and no log has the password', async () => {
    putSecret('the-old-password');
    service.start();
    await waitFor('the reason', async () =>
      /waits for the database[^\n]*Authentication failed/.test(await readyz()),
    );
    await waitFor('another try', async () => Number(/tried (\d+) times/.exec(await readyz())?.[1]) >= 3);
    const live = await request(`${adminUrl}/livez`);
    await live.body.dump();
    expect(live.statusCode).toBe(200);
    await waitFor('the log', () => service.log().includes('Authentication failed'));
    expect(service.log()).not.toContain('the-old-password');
    expect(service.running).toBe(true);
  });

  it('the new one is read at the next start', async () => {
    putSecret('the-new-password');
    await service.stop();
    service.start();
    await waitFor('the step after the database', async () =>
      (await readyz()).includes('waits for the topics'),
    );
    expect(await readyz()).not.toContain('Authentication failed');
  });
});
