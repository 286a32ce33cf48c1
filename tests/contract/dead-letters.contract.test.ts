import { randomUUID } from 'node:crypto';
import {
  deadLetterTopic,
  type EventLog,
  type LogEvent,
  NewerVersionError,
  PoisonEventError,
  type RunningSubscription,
} from '@headset-cloud/eventlog/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { jest } from '@jest/globals';
import { describeUnless } from '../support/skip.ts';
import { embeddedStack, kafkaStack, type LogStack, openLog } from './eventlog-stacks.ts';

jest.setTimeout(90_000);
const patient = { timeoutMs: 60_000 };
const textOf = (event: LogEvent) => Buffer.from(event.value).toString();
const event = (key: string, text: string) => ({ key, value: Buffer.from(text) });

for (const stack of [embeddedStack(), kafkaStack()]) {
  describeUnless(stack.missing, `dead letters on ${stack.name}`, () => contract(stack));
}

/** A subscription's dead letters go to its `storeDeadLetter` handler, on each log. */
function contract(stack: LogStack): void {
  let log: EventLog;
  let close: () => Promise<void>;
  let topic: string;
  const running: RunningSubscription[] = [];

  beforeAll(() => stack.start(), 90_000);
  afterAll(() => stack.stop());
  beforeEach(async () => {
    ({ log, close } = await openLog(stack.address()));
    topic = `t-${randomUUID()}`;
    await log.ensureTopics([topic]);
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((one) => one.close()));
    await close();
  });

  test('the subscription’s handler gets the dead letter, and is retried until it succeeds', async () => {
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
        storeDeadLetter: async (one, error) => {
          if (failures-- > 0) throw new DomainError('unavailable', 'The database is unavailable.');
          kept.push(`${textOf(one)}: ${(error as Error).message}`);
        },
      }),
    );
    await waitFor('the rest', () => handled.includes('2'), patient);
    expect(kept).toEqual(['bad: cannot be read']);
    expect(await log.readNewest(deadLetterTopic(topic), 10)).toEqual([]);
  });

  test('an event of a newer version waits in its partition until a member of that version takes over', async () => {
    const handled: string[] = [];
    let tries = 0;
    const member = (newer: boolean) =>
      log.subscribe({
        topic,
        group: 'g',
        handle: async (events) => {
          if (!newer && events.some((one) => textOf(one) === 'new')) {
            tries += 1;
            throw new NewerVersionError('not known yet');
          }
          handled.push(...events.map(textOf));
        },
      });
    await log.publish(topic, [event('k', '1'), event('k', 'new'), event('k', '2')]);
    const older = await member(false);
    running.push(older);
    await waitFor('a second try', () => tries > 1, patient);
    running.push(await member(true));
    await older.close();
    await waitFor('all of it', () => handled.includes('2'), patient);
    expect([...new Set(handled)]).toEqual(['1', 'new', '2']);
    expect(await log.readNewest(deadLetterTopic(topic), 10)).toEqual([]);
  });
}
