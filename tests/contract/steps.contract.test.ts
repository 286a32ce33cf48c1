import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningMongo, startMongo, whyNoMongo } from '@headset-cloud/demo/stack/mongo.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { connectMongo } from '@headset-cloud/store/mongo.ts';
import {
  createStepRunner,
  type StepRunner,
  type StepRunnerOptions,
  type StepsDocument,
} from '@headset-cloud/store/schema/runner.ts';
import type { Store, StoreConnection } from '@headset-cloud/store/types.ts';
import { expect, jest } from '@jest/globals';
import { describeUnless } from '../support/skip.ts';
import { contractSteps } from './steps-of-test.ts';

jest.setTimeout(90_000);

describeUnless(whyNoMongo(), 'the steps of a database on a MongoDB server (ADR 0034)', () => {
  const logger = createLogger({ service: 'contract', level: process.env['LOG_LEVEL'] ?? 'silent' });
  let directory: string;
  let server: RunningMongo;
  let databasePrefix: string;
  let connections: StoreConnection[];
  let store: Store;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'steps-contract-'));
    server = await startMongo(directory);
  });
  afterAll(async () => {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  beforeEach(async () => {
    databasePrefix = `steps-${randomUUID().slice(0, 8)}-`;
    connections = [];
    store = await open();
  });
  afterEach(() => Promise.all(connections.map((connection) => connection.close())));

  /** Opens the database over a separate connection. */
  async function open(uri = server.uri, more: { readonly socketTimeoutMs?: number } = {}): Promise<Store> {
    const connection = await connectMongo({ uri, databasePrefix, appName: 'steps-contract', ...more });
    connections.push(connection);
    return connection.database('billing');
  }
  const runner = (more: Partial<StepRunnerOptions> = {}) =>
    createStepRunner({ store, steps: contractSteps, logger, holder: 'test', ...more });
  const state = () => store.collection<StepsDocument>('schema').findOne({ _id: 'steps' });
  const things = () => store.collection<{ _id: number; number: number }>('things');
  const isHeld = (error: unknown) => error instanceof DomainError && error.code === 'unavailable';

  /** Retries until the steps are done; returns how often another run held them. */
  async function finish(one: StepRunner): Promise<number> {
    let held = 0;
    await waitFor('the steps', async () => {
      try {
        await one.attempt();
        return true;
      } catch (error) {
        if (!isHeld(error)) throw error;
        held += 1;
        return false;
      }
    });
    return held;
  }
  async function expectDone(): Promise<void> {
    expect(await state()).toMatchObject({ done: 2 });
    expect(await state()).not.toHaveProperty('holder');
    await things().insertOne({ _id: 101, number: 101 });
    await expect(things().insertOne({ _id: 102, number: 101 })).rejects.toMatchObject({ code: 11000 });
  }

  test('several concurrent runs: each step is executed by one of them, and all end', async () => {
    const stores = await Promise.all([open(), open(), open()]);
    const time = createFakeTime();
    await Promise.all(stores.map((one, i) => finish(runner({ store: one, holder: `run-${i}`, time }))));
    // One claim for each step: no lease expired, because no time passed.
    expect(await state()).toEqual({ _id: 'steps', done: 2, beat: 2 });
    await expectDone();
  });

  test.each(['after store billing.schema.holder', 'after store billing.things.createIndexes'])(
    'a run that is killed (SIGKILL) %s is continued after its lease has expired',
    async (at) => {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, 'steps-runner.ts'), server.uri, databasePrefix, at],
        { stdio: ['ignore', 'ignore', 'inherit'] },
      );
      expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
      expect(await state()).toEqual({ _id: 'steps', done: 0, holder: 'child', beat: 1 });
      expect(await finish(runner({ leaseMs: 300 }))).toBeGreaterThan(0);
      await expectDone();
    },
  );

  test('indexes from before the introduction of steps are found, and the documents stay', async () => {
    for (const { indexes } of contractSteps.steps) {
      for (const [name, list] of Object.entries(indexes))
        await store.collection(name).createIndexes([...list]);
    }
    await things().insertOne({ _id: 1, number: 1 });
    await runner().attempt();
    expect(await things().findOne({ _id: 1 })).toEqual({ _id: 1, number: 1 });
    await expectDone();
  });

  test('an index that contradicts an existing one is a permanent error', async () => {
    await store.collection('things').createIndexes([{ name: 'number', key: { number: -1 } }]);
    const error = await runner()
      .attempt()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'MongoServerError' });
    expect(isHeld(error)).toBe(false);
    expect(await state()).toEqual({ _id: 'steps', done: 0, beat: 1 });
  });

  describe('when building an index takes longer than the timeout of a call', () => {
    let relay: Server;
    /** The first `createIndexes` has arrived. */
    let asked: PromiseWithResolvers<void>;
    /** Releases the answers. */
    let built: PromiseWithResolvers<void>;

    /** A relay that delays the answers to `createIndexes` until `built`. */
    beforeEach(async () => {
      [asked, built] = [Promise.withResolvers(), Promise.withResolvers()];
      relay = createServer((client) => {
        const upstream = connect(Number(new URL(server.uri).port), '127.0.0.1');
        let late = false;
        client.on('data', (chunk) => {
          if (chunk.includes('createIndexes')) {
            late = true;
            asked.resolve();
          }
          upstream.write(chunk);
        });
        upstream.on('data', (chunk) => {
          if (!late) return void client.write(chunk);
          late = false;
          void built.promise.then(() => client.write(chunk));
        });
        for (const [one, other] of [
          [client, upstream],
          [upstream, client],
        ] as const) {
          one.on('close', () => other.destroy());
          one.on('error', () => other.destroy());
        }
      });
      relay.listen(0, '127.0.0.1');
      await once(relay, 'listening');
    });
    afterEach(() => {
      relay.close();
    });

    test('a step waits for the index with a rising heartbeat, and an ordinary call would fail', async () => {
      const uri = new URL(server.uri);
      uri.port = String((relay.address() as AddressInfo).port);
      const slow = await open(uri.href, { socketTimeoutMs: 500 });
      const [first] = contractSteps.steps;
      const steps = { ...contractSteps, steps: first ? [first] : [] };
      const { forLongWork } = slow;
      const attempt = runner({
        store: { ...store, ...(forLongWork && { forLongWork }) },
        steps,
        leaseMs: 400,
      }).attempt();
      await Promise.race([asked.promise, attempt]);
      // Starts after the step, so the step has waited longer when this call fails.
      await expect(
        slow.collection('others').createIndexes([{ name: 'n', key: { n: 1 } }]),
      ).rejects.toMatchObject({ name: 'MongoNetworkTimeoutError' });
      await waitFor('the beat to rise', async () => ((await state())?.beat ?? 0) > 5);
      expect(await state()).toMatchObject({ done: 0 });
      built.resolve();
      await attempt;
      expect(await state()).toMatchObject({ done: 1 });
    });
  });
});
