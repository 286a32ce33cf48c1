import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiClient, createApiClient } from '@headset-cloud/demo/api.ts';
import { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { type IntegratorServer, startIntegrator } from '@headset-cloud/demo/integrator/server.ts';
import { createAdmin, provisionApplication, provisionDevice } from '@headset-cloud/demo/provision.ts';
import { type ManagedProcess, manageProcess } from '@headset-cloud/demo/stack/process.ts';
import { type Stack, startStack } from '@headset-cloud/demo/stack/stack.ts';
import { deadLetterTopic, topics } from '@headset-cloud/eventlog/types.ts';
import { allSteps } from '@headset-cloud/prepare/all-steps.ts';
import { databaseOf, serviceNames } from '@headset-cloud/runtime/service-names.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { type StepsDocument, stepsCollection } from '@headset-cloud/store/schema/runner.ts';
import { Kafka, logLevel } from 'kafkajs';
import { MongoClient } from 'mongodb';
import { request } from 'undici';
import { describeOnStack, imei, stack as suiteStack } from './harness.ts';

const client = { clientId: 'prepare', clientSecret: randomBytes(24).toString('hex') };
const storing = Object.keys(allSteps) as (keyof typeof allSteps)[];

// The suite's platform has already prepared servers that are given by an address.
const fresh = suiteStack.kind === 'real' && !process.env['MONGODB_URI'] && !process.env['KAFKA_BROKERS'];
const describeFresh = fresh ? describeOnStack : (describe.skip as typeof describeOnStack);

describeFresh('services that start before their databases and topics are prepared (SCHEMA=wait)', () => {
  let folder: string;
  let stack: Stack;
  let mongo: MongoClient;
  let integrator: IntegratorServer;
  let headset: Headset | undefined;
  let api: ApiClient | undefined;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-prepare-'));
    integrator = await startIntegrator();
    stack = await startStack({
      ...{ kind: 'real', dataDir: folder, clients: [client], env: { SCHEMA: 'wait' } },
      later: serviceNames,
    });
    mongo = new MongoClient(stack.backing?.mongodbUri ?? '');
    for (const name of serviceNames) stack.processes[name]?.start();
  }, 120_000);
  afterAll(async () => {
    await headset?.close();
    await api?.close();
    await mongo?.close();
    await stack?.stop();
    await integrator?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The command, not started; its number of partitions differs from every default. */
  const prepare = (name: string): ManagedProcess =>
    manageProcess({
      name,
      entry: 'services/prepare/src/main.ts',
      env: {
        MONGODB_URI: stack.backing?.mongodbUri ?? '',
        KAFKA_BROKERS: stack.backing?.kafkaBrokers ?? '',
        ...(stack.backing?.kafkaPrefix && { KAFKA_PREFIX: stack.backing.kafkaPrefix }),
        KAFKA_REPLICATION_FACTOR: '1',
        KAFKA_PARTITIONS: '3',
      },
      logFile: join(folder, 'logs', `${name}.log`),
    });
  const get = async (service: string, path: string) => {
    try {
      const answer = await request(`${stack.adminUrls[service]}${path}`);
      return { status: answer.statusCode, text: await answer.body.text() };
    } catch {
      return undefined;
    }
  };
  const stepsOf = (service: keyof typeof allSteps) =>
    mongo
      .db(`headset_${databaseOf(service)}`)
      .collection<StepsDocument>(stepsCollection)
      .findOne({ _id: 'steps' });

  it('they live, are not ready, report why, and create nothing', async () => {
    for (const service of storing) {
      const found = await waitFor(
        `${service} to say why`,
        async () => {
          const ready = await get(service, '/readyz');
          return ready?.text.includes('is not done') && ready;
        },
        { timeoutMs: 60_000 },
      );
      const why = `step 1 (indexes) of the database of ${service} is not done. This makes it: node services/prepare/src/main.ts`;
      expect(found).toMatchObject({ status: 503, text: expect.stringContaining(why) });
      expect(await get(service, '/livez')).toMatchObject({ status: 200 });
      // The log is written a moment later.
      await waitFor(`the log of ${service}`, () => stack.processes[service]?.log().includes(why));
      expect(await stepsOf(service)).toBeNull();
    }
  }, 120_000);

  it('two concurrent runs of the command create everything once; then all services are ready and a call works', async () => {
    const runs = [prepare('prepare-1'), prepare('prepare-2')];
    for (const run of runs) run.start();
    expect(await Promise.all(runs.map((run) => run.exited))).toEqual(['0', '0']);
    for (const service of storing) {
      const done = allSteps[service].steps.length;
      // One claim for each step.
      expect(await stepsOf(service)).toEqual({ _id: 'steps', done, beat: done });
    }
    await stack.ready(60_000, serviceNames);
    const kafka = new Kafka({
      brokers: (stack.backing?.kafkaBrokers ?? '').split(','),
      logLevel: logLevel.NOTHING,
    }).admin();
    await kafka.connect();
    const names = Object.values(topics);
    const described = await kafka.fetchTopicMetadata({
      topics: [...names, ...names.map(deadLetterTopic)],
    });
    await kafka.disconnect();
    expect(Object.fromEntries(described.topics.map((t) => [t.name, t.partitions.length]))).toEqual({
      ...Object.fromEntries(names.map((name) => [name, 3])),
      ...Object.fromEntries(names.map((name) => [deadLetterTopic(name), 1])),
    });

    const admin = createAdmin(stack.admin);
    const identity = await provisionDevice(admin, imei());
    const { deviceId } = identity;
    const applicationId = await provisionApplication(admin, {
      ...{ developerId: 'prepare', clientIds: [client.clientId], name: 'prepare', activationLimit: 1 },
      deviceIds: [deviceId],
    });
    api = createApiClient({ apiUrl: stack.apiUrl, tokenUrl: stack.tokenUrl, applicationId, ...client });
    await api.app('PATCH', '', { deviceEvent: integrator.url });
    integrator.keys.push((await api.app('POST', '/refresh_authkey')).body.authenticationKey);
    headset = new Headset({
      ...{ identity, server: stack.deviceLinkUrl, backoff: { firstMs: 50, maxMs: 500 } },
    });
    headset.connect();
    const activation = await api.app('POST', `/devices/${deviceId}`, { clientId: 'prepare' });
    expect(activation.status).toBe(201);
    await waitFor('the callback', () =>
      integrator.received.find(
        ({ body }) =>
          body.transactionId === activation.body.transactionId && body.notificationType === 'processed',
      ),
    );
  }, 180_000);

  it('the command may run again at any time, and changes nothing', async () => {
    const again = prepare('prepare-again');
    again.start();
    expect(await again.exited).toBe('0');
    for (const service of storing) {
      const done = allSteps[service].steps.length;
      expect(await stepsOf(service)).toEqual({ _id: 'steps', done, beat: done });
    }
  }, 60_000);
});
