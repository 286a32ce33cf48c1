import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { freePorts } from '@headset-cloud/demo/stack/ports.ts';
import { type ManagedProcess, manageProcess } from '@headset-cloud/demo/stack/process.ts';
import { BillingService } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import { GrpcChannel } from '@headset-cloud/rpc/grpc.ts';
import { createClient } from '@headset-cloud/rpc/types.ts';
import { serviceNames } from '@headset-cloud/runtime/service-names.ts';
import { expiredCertificate } from '@headset-cloud/runtime/testing/certificate.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { request } from 'undici';

/** A service starts while its database and broker are unavailable. The test needs neither. */
describe('a service that starts while its stores are unavailable', () => {
  let folder: string;
  let service: ManagedProcess;
  let adminUrl: string;
  let grpcAddress: string;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-start-'));
    const [grpc, admin, mongo, kafka] = await freePorts(4);
    adminUrl = `http://127.0.0.1:${admin}`;
    grpcAddress = `127.0.0.1:${grpc}`;
    service = manageProcess({
      name: 'billing',
      entry: 'services/billing/src/main.ts',
      env: {
        MONGODB_URI: `mongodb://127.0.0.1:${mongo}`,
        KAFKA_BROKERS: `127.0.0.1:${kafka}`,
        GRPC_LISTEN: grpcAddress,
        ADMIN_LISTEN: `127.0.0.1:${admin}`,
      },
      logFile: join(folder, 'billing.log'),
    });
    service.start();
  });
  afterEach(async () => {
    await service.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  const readyz = async () => {
    try {
      const answer = await request(`${adminUrl}/readyz`);
      return { status: answer.statusCode, text: await answer.body.text() };
    } catch {
      return undefined;
    }
  };
  const saysWhy = () =>
    waitFor('the reasons', async () => {
      const found = await readyz();
      return found?.text.includes('waits for') && found;
    });

  it('is alive but not ready, logs the reason once, and a call ends at its deadline with a retry time', async () => {
    expect(await saysWhy()).toMatchObject({
      status: 503,
      text: expect.stringMatching(/^starting: waits for the database[\s\S]*ECONNREFUSED[\s\S]*Kafka/),
    });
    const live = await request(`${adminUrl}/livez`);
    await live.body.dump();
    expect(live.statusCode).toBe(200);
    const channel = new GrpcChannel(grpcAddress);
    try {
      await expect(createClient(BillingService, channel).getBill({})).rejects.toMatchObject({
        code: 'deadline_exceeded',
        retryAfterMs: expect.any(Number),
      });
    } finally {
      await channel.close();
    }
    // Further tries log nothing.
    const tries = async () => /tried (\d+) times/.exec((await readyz())?.text ?? '')?.[1];
    await waitFor('some tries', async () => Number(await tries()) >= 3);
    expect(service.log().match(/waiting for the database/g)).toHaveLength(1);
    expect(service.running).toBe(true);
  });

  it('reports that the certificate of its database has expired, and stays alive', async () => {
    const database = createServer(expiredCertificate);
    database.listen(0, '127.0.0.1');
    await once(database, 'listening');
    const { port } = database.address() as AddressInfo;
    try {
      await service.kill();
      service.start({ MONGODB_URI: `mongodb://localhost:${port}/?tls=true` });
      await waitFor('the reason', async () =>
        /waits for the database[^\n]*certificate has expired/.test((await readyz())?.text ?? ''),
      );
      await waitFor('the log', () => service.log().includes('certificate has expired'));
      expect(service.running).toBe(true);
    } finally {
      database.close();
    }
  });

  it('ends at once and gracefully on a stop meanwhile', async () => {
    const connections: Socket[] = [];
    // Accepts connections, and sends no answer.
    const database = createTcpServer((connection) => {
      // The process ends.
      connection.on('error', () => {});
      connections.push(connection);
    });
    database.listen(0, '127.0.0.1');
    await once(database, 'listening');
    const { port } = database.address() as AddressInfo;
    try {
      await service.kill();
      // An hour: a stop that waits for the end of the try would end long after this test.
      const limits = 'serverSelectionTimeoutMS=3600000&connectTimeoutMS=3600000';
      service.start({ MONGODB_URI: `mongodb://127.0.0.1:${port}/?${limits}` });
      await waitFor('the try to connect', () => connections.length > 0);
      service.signal('SIGTERM');
      expect(await service.exited).toBe('0');
      // Nothing was aborted at the end of the stop's time limit.
      expect(service.log()).not.toContain('did not stop in time');
    } finally {
      database.close();
      for (const connection of connections) connection.destroy();
    }
  });
});

/** Least privilege: a service that opens no sealed value does not get the key. */
describe('SECRET_KEY', () => {
  const sealing = ['devices', 'transactions', 'updates', 'communication'];
  let folder: string;
  let service: ManagedProcess;
  let adminUrl: string;

  const start = async (name: string, env: Record<string, string> = {}) => {
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-start-'));
    const [grpc, admin, away] = await freePorts(3);
    adminUrl = `http://127.0.0.1:${admin}`;
    service = manageProcess({
      name,
      entry: `services/${name}/src/main.ts`,
      env: {
        MONGODB_URI: `mongodb://127.0.0.1:${away}`,
        KAFKA_BROKERS: `127.0.0.1:${away}`,
        GRPC_LISTEN: `127.0.0.1:${grpc}`,
        ADMIN_LISTEN: `127.0.0.1:${admin}`,
        ...env,
      },
      logFile: join(folder, `${name}.log`),
    });
    service.start();
  };
  afterEach(async () => {
    await service.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  const lives = () =>
    waitFor('the process to live', async () => {
      if (!service.running) throw new Error(service.log());
      const answer = await request(`${adminUrl}/livez`).catch(() => undefined);
      await answer?.body.dump();
      return answer?.statusCode === 200;
    });

  it.each(serviceNames.filter((name) => !sealing.includes(name)))(
    '%s, which encrypts no values, starts without the key, and ignores a given one',
    async (name) => {
      // An older chart sets the file's name.
      await start(name, { SECRET_KEY_FILE: '/none' });
      await lives();
    },
  );

  it.each(sealing)('%s, which seals, does not start without the key', async (name) => {
    await start(name);
    expect(await service.exited).toBe('2');
    expect(service.log()).toContain('SECRET_KEY is missing');
  });
});
