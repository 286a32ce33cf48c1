import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedDatabase, openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedStore, type EmbeddedStoreConnection } from '@headset-cloud/embedded/store.ts';
import { withDeadLetters } from '@headset-cloud/kit/dead-letters/log.ts';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import {
  deadLetterTopic,
  type EventLog,
  type LogEvent,
  NewerVersionError,
  PoisonEventError,
  type RunningSubscription,
} from '@headset-cloud/kit/eventlog/types.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { jest } from '@jest/globals';
import { describeUnless } from '../support/skip.ts';
import { embeddedStack, kafkaStack, type LogStack, openLog } from './eventlog-stacks.ts';

jest.setTimeout(90_000);
const patient = { timeoutMs: 60_000 };
const logger = createLogger({ service: 'contract', level: 'silent' });
const textOf = (event: LogEvent) => Buffer.from(event.value).toString();
const event = (key: string, text: string) => ({ key, value: Buffer.from(text) });

for (const stack of [embeddedStack(), kafkaStack()]) {
  describeUnless(stack.missing, `dead letters on ${stack.name}`, () => contract(stack));
}

/** What a subscription sets aside goes where it says, on every log; the store behind is the same. */
function contract(stack: LogStack): void {
  let directory: string;
  let db: EmbeddedDatabase;
  let stores: EmbeddedStoreConnection;
  let log: EventLog;
  let close: () => Promise<void>;
  let topic: string;
  const running: RunningSubscription[] = [];

  beforeAll(async () => {
    await stack.start();
    directory = mkdtempSync(join(tmpdir(), 'dead-letters-'));
    db = openEmbeddedDatabase({ directory });
    stores = createEmbeddedStore(db);
  }, 90_000);
  afterAll(async () => {
    await stores.close();
    await db.close();
    rmSync(directory, { recursive: true, force: true });
    await stack.stop();
  });
  beforeEach(async () => {
    ({ log, close } = await openLog(stack.address()));
    topic = `t-${randomUUID()}`;
    await log.ensureTopics([topic]);
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((one) => one.close()));
    await close();
  });

  /** A member of the group g; `newer`: it knows what begins with "new". */
  async function member(newer: boolean, order: string[]) {
    const { log: own, deadLetters } = withDeadLetters(log, {
      store: stores.database(topic),
      logger,
      replayEveryMs: 100,
    });
    const subscription = await own.subscribe({
      topic,
      group: 'g',
      maxBatch: 5,
      handle: async (events) => {
        const unknown = newer ? undefined : events.find((one) => textOf(one).startsWith('new'));
        if (unknown) throw new NewerVersionError(unknown, 'not known yet');
        for (const one of events) order.push(`${one.key} ${textOf(one)}`);
      },
    });
    running.push(subscription);
    await waitFor('the member to join', () => subscription.notReady() === undefined, patient);
    return { deadLetters, subscription };
  }

  test('an event goes where the subscription sets it aside, which is tried until it takes it', async () => {
    await log.publish(topic, [event('k', '1'), event('k', 'bad'), event('k', '2')]);
    const handled: string[] = [];
    const kept: string[] = [];
    let failures = 2;
    running.push(
      await log.subscribe({
        topic,
        group: 'g',
        handle: async (events) => {
          const bad = events.find((one) => textOf(one) === 'bad');
          if (bad) throw new PoisonEventError(bad, 'cannot be read');
          handled.push(...events.map(textOf));
        },
        setAside: async (one, error) => {
          if (failures-- > 0) throw new DomainError('unavailable', 'The database is away.');
          kept.push(`${textOf(one)}: ${(error as Error).message}`);
        },
      }),
    );
    await waitFor('the rest', () => handled.includes('2'), patient);
    expect(kept).toEqual(['bad: cannot be read']);
    expect(await log.readNewest(deadLetterTopic(topic), 10)).toEqual([]);
  });

  test('an older member sets events of a newer version aside; a newer one that takes over keeps their order', async () => {
    const order: string[] = [];
    const keys = ['a', 'b', 'c'];
    const publish = async (...texts: string[]) => {
      for (const text of texts)
        await log.publish(
          topic,
          keys.map((key) => event(key, text)),
        );
    };
    const older = await member(false, order);
    await publish('1', 'new 2', '3');
    await waitFor('the lines', async () => (await older.deadLetters.list(100, false)).length === 6, patient);
    // Both versions at once, as while a release rolls: partitions move between them.
    const newer = await member(true, order);
    await publish('4', 'new 5', '6');
    await waitFor('the lines to be replayed', () => order.length >= 15, patient);
    await older.subscription.close();
    await publish('7', 'new 8', '9');
    await waitFor('everything', () => order.length >= keys.length * 9, patient);
    const expected = ['1', 'new 2', '3', '4', 'new 5', '6', '7', 'new 8', '9'];
    for (const key of keys) {
      const first = [...new Set(order.filter((one) => one.startsWith(`${key} `)))];
      expect(first).toEqual(expected.map((text) => `${key} ${text}`));
    }
    await waitFor('no line', async () => (await newer.deadLetters.list(100, false)).length === 0, patient);
  });
}
