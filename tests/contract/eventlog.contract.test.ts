import { createHook } from 'node:async_hooks';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import { join } from 'node:path';
import {
  deadLetterTopic,
  type EventLog,
  type LogEvent,
  type OutgoingEvent,
  PoisonEventError,
  partitionAndOffset,
  type RunningSubscription,
  type Subscription,
} from '@headset-cloud/eventlog/types.ts';
import { DomainError, isTransient } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { jest } from '@jest/globals';
import { describeUnless } from '../support/skip.ts';
import { embeddedStack, kafkaStack, type LogStack, openLog } from './eventlog-stacks.ts';

jest.setTimeout(90_000);
const patient = { timeoutMs: 30_000 };

const text = (event: { value: Uint8Array }) => Buffer.from(event.value).toString();
const event = (key: string, value: string | number): OutgoingEvent => ({
  key,
  value: Buffer.from(String(value)),
});
const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, i) => from + i);

/** A handler that stores its events. */
function collect() {
  const events: LogEvent[] = [];
  return {
    events,
    values: () => events.map(text),
    handle: async (batch: readonly LogEvent[]) => {
      events.push(...batch);
    },
  };
}

/** The values of each key, in the order of their first arrival. */
function firstArrivals(events: readonly LogEvent[]): Record<string, number[]> {
  const byKey = new Map<string, Set<number>>();
  for (const e of events) byKey.set(e.key, (byKey.get(e.key) ?? new Set()).add(Number(text(e))));
  return Object.fromEntries([...byKey].map(([key, values]) => [key, [...values]]));
}

for (const stack of [embeddedStack(), kafkaStack()]) {
  describeUnless(stack.missing, `event log on ${stack.name}`, () => contract(stack));
}

function contract(stack: LogStack): void {
  let log: EventLog;
  let close: () => Promise<void>;
  let topic: string;

  const open = async () => {
    ({ log, close } = await openLog(stack.address()));
  };

  const running: RunningSubscription[] = [];
  const subscribe = async (subscription: Subscription) => {
    const member = await log.subscribe(subscription);
    running.push(member);
    return member;
  };
  afterEach(() => Promise.all(running.splice(0).map((member) => member.close())));

  beforeAll(async () => {
    await stack.start();
    await open();
  });
  afterAll(async () => {
    await close();
    await stack.stop();
  });
  beforeEach(async () => {
    topic = `t-${randomUUID()}`;
    await log.ensureTopics([topic]);
  });

  test('ensureTopics may be repeated, also concurrently', async () => {
    const other = `t-${randomUUID()}`;
    await Promise.all([log.ensureTopics([other]), log.ensureTopics([topic])]);
    await log.ensureTopics([topic, other]);
    await log.publish(other, [event('k', 1)]);
    expect((await log.readNewest(other, 5)).map(text)).toEqual(['1']);
  });

  // The embedded log has no other process that could create topics.
  if (stack.name === 'Kafka') {
    test('a log that creates no topics names the missing topics and the command for them, until they exist', async () => {
      const other = `t-${randomUUID()}`;
      const waiting = await openLog(stack.address(), { makeTopics: false });
      try {
        await waiting.log.ensureTopics([topic]);
        const error = await waiting.log.ensureTopics([topic, other]).catch((e: unknown) => e);
        expect(isTransient(error)).toBe(true);
        expect(error).toMatchObject({
          message:
            `Topics are missing: ${other}, ${deadLetterTopic(other)}. ` +
            'This makes them: node services/prepare/src/main.ts (services/prepare)',
        });
        await log.ensureTopics([other]);
        await waiting.log.ensureTopics([topic, other]);
      } finally {
        await waiting.close();
      }
    });

    test('more replicas than brokers are rejected with both numbers', async () => {
      const asking = await openLog(stack.address(), { replicationFactor: 30 });
      try {
        const error = await asking.log.ensureTopics([`t-${randomUUID()}`]).catch((e: unknown) => e);
        expect(isTransient(error)).toBe(true);
        expect(error).toMatchObject({
          internal: expect.stringMatching(
            /topics cannot be made: KAFKA_REPLICATION_FACTOR is 30, and the cluster has \d+ broker/,
          ),
        });
      } finally {
        await asking.close();
      }
    });
  }

  test('events of a key keep their order under concurrent publishers', async () => {
    const keys = numbers(12).map((n) => `device-${n}`);
    const got = collect();
    await subscribe({ topic, group: 'order', handle: got.handle });
    await Promise.all(
      keys.flatMap((key) =>
        numbers(50).map((n) => log.publish(topic, [event(key, n * 2), event(key, n * 2 + 1)])),
      ),
    );
    await waitFor('all events', () => got.events.length >= 1200, patient);
    expect(firstArrivals(got.events)).toEqual(Object.fromEntries(keys.map((key) => [key, numbers(100)])));
    expect(got.events).toHaveLength(1200);
    expect(new Set(got.events.map((e) => e.position)).size).toBe(1200);
  });

  test('each group gets every event, also earlier ones', async () => {
    await log.publish(
      topic,
      numbers(20).map((n) => event(`k${n}`, n)),
    );
    const [a, b] = [collect(), collect()];
    await subscribe({ topic, group: 'a', handle: a.handle });
    await log.publish(
      topic,
      numbers(20, 20).map((n) => event(`k${n}`, n)),
    );
    await subscribe({ topic, group: 'b', handle: b.handle });
    for (const got of [a, b]) {
      await waitFor('all events', () => got.events.length >= 40, patient);
      expect(
        got
          .values()
          .map(Number)
          .sort((x, y) => x - y),
      ).toEqual(numbers(40));
    }
  });

  test('the same group name on two topics means two groups', async () => {
    const other = `t-${randomUUID()}`;
    await log.ensureTopics([other]);
    const [a, b] = [collect(), collect()];
    await subscribe({ topic, group: 'g', handle: a.handle });
    await subscribe({ topic: other, group: 'g', handle: b.handle });
    await log.publish(topic, [event('k', 1)]);
    await log.publish(other, [event('k', 2)]);
    await waitFor('both', () => a.events.length > 0 && b.events.length > 0, patient);
    expect([a.values(), b.values()]).toEqual([['1'], ['2']]);
  });

  test('members of a group share the events; when one leaves the other takes over, nothing lost', async () => {
    const [a, b] = [collect(), collect()];
    const first = await subscribe({ topic, group: 'g', maxBatch: 10, handle: a.handle });
    const second = await subscribe({ topic, group: 'g', maxBatch: 10, handle: b.handle });
    const joined = () => !first.notReady() && !second.notReady();
    await waitFor('both to join', joined, patient);
    let next = 0;
    const publishMore = async () => {
      await log.publish(
        topic,
        numbers(40).map((k) => event(`k${k}`, next)),
      );
      next += 1;
    };
    await waitFor(
      'both to have some',
      async () => {
        await publishMore();
        return a.events.length > 0 && b.events.length > 0;
      },
      patient,
    );
    const leaving = first.close();
    for (let i = 0; i < 10; i += 1) await publishMore();
    await leaving;
    const handledByFirst = a.events.length;
    for (let i = 0; i < 5; i += 1) await publishMore();
    const arrived = () => new Set([...a.events, ...b.events].map((e) => e.position)).size;
    await waitFor('all events', () => arrived() >= next * 40, patient);
    expect(a.events).toHaveLength(handledByFirst);
    // For each key the second member continues after the last event that the first has finished.
    for (const values of Object.values(firstArrivals([...a.events, ...b.events]))) {
      expect([...values].sort((x, y) => x - y)).toEqual(numbers(next));
    }
    for (const member of [a, b]) {
      for (const values of Object.values(firstArrivals(member.events))) {
        expect(values).toEqual([...values].sort((x, y) => x - y));
      }
    }
  });

  if (stack.name === 'Kafka') {
    test('an additional member without a partition is ready and idle, and takes over when another leaves', async () => {
      const narrow = await openLog(stack.address(), { partitions: 1 });
      const single = `t-${randomUUID()}`;
      try {
        await narrow.log.ensureTopics([single]);
        const members = [collect(), collect()];
        const subscriptions = await Promise.all(
          members.map(({ handle }) => narrow.log.subscribe({ topic: single, group: 'g', handle })),
        );
        running.push(...subscriptions);
        const ready = () => subscriptions.every((member) => !member.notReady());
        await waitFor('both to join', ready, patient);
        await narrow.log.publish(single, [event('a', 1), event('b', 2)]);
        await waitFor('the events', () => members.some(({ events }) => events.length === 2), patient);
        const [busy, idle] = members[0]?.events.length ? [0, 1] : [1, 0];
        // Later than the limit after which a consumer without an answer of its broker is not ready. The idle consumer gets
        // answers. The clock stays ahead, because kafkajs would send no heartbeat for as long as a clock step back.
        const now = Date.now;
        jest.spyOn(Date, 'now').mockImplementation(() => now() + 20_000);
        await waitFor('both to be ready still', ready, patient);
        expect(members[idle]?.events).toEqual([]);
        await subscriptions[busy]?.close();
        await narrow.log.publish(single, [event('c', 3)]);
        await waitFor('the other', () => members[idle]?.values().includes('3'), patient);
      } finally {
        await narrow.close();
        jest.restoreAllMocks();
      }
    });
  }

  test('unfinished events of a killed consumer are delivered again', async () => {
    await log.publish(
      topic,
      numbers(23).map((n) => event('k', n)),
    );
    await close();
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'eventlog-consumer.ts'), stack.address(), topic, 'g', '10'],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    let said = '';
    child.stdout.on('data', (chunk) => {
      said += chunk;
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    try {
      await waitFor('the batch that hangs', () => said.includes('began 14\n'), patient);
    } finally {
      child.kill('SIGKILL');
      await ended;
      await open();
      await log.ensureTopics([topic]);
    }
    const got = collect();
    await subscribe({ topic, group: 'g', handle: got.handle });
    await waitFor('the rest', () => got.values().includes('22'), patient);
    const first = Number(got.values()[0]);
    expect(first).toBeLessThanOrEqual(10);
    expect(got.values().map(Number)).toEqual(numbers(23 - first, first));
  });

  test('a consumer that is killed repeatedly makes progress, although all events take long', async () => {
    const count = 400;
    await log.publish(
      topic,
      numbers(count).map((n) => event('k', n)),
    );
    await close();
    const firsts: number[] = [];
    for (let start = 0; start < 3; start++) {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, 'eventlog-consumer.ts'), stack.address(), topic, 'g', '1000', '20'],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      let said = '';
      child.stdout.on('data', (chunk) => {
        said += chunk;
      });
      const ended = new Promise((resolve) => child.once('exit', resolve));
      try {
        await waitFor('the offset behind its first batch', () => said.includes('stored\n'), patient);
      } finally {
        child.kill('SIGKILL');
        await ended;
      }
      const first = Number(/^finished (\d+)$/m.exec(said)?.[1]);
      firsts.push(first);
      // The first batch is a small part: all events together would take 8 s.
      expect(Number(/^batch of (\d+)$/m.exec(said)?.[1])).toBeLessThan((count - first) / 4);
    }
    await open();
    await log.ensureTopics([topic]);
    const [zero, second = 0, third = 0] = firsts;
    expect(zero).toBe(0);
    expect(second).toBeGreaterThan(0);
    expect(third).toBeGreaterThan(second);
  });

  test('a group continues at its position after a restart', async () => {
    await log.publish(
      topic,
      numbers(50).map((n) => event(`k${n % 5}`, n)),
    );
    const before = collect();
    await subscribe({ topic, group: 'g', handle: before.handle });
    await waitFor('the first events', () => before.events.length >= 50, patient);
    await close();
    await open();
    await log.ensureTopics([topic]);
    await log.publish(
      topic,
      numbers(10, 50).map((n) => event(`k${n % 5}`, n)),
    );
    const after = collect();
    await subscribe({ topic, group: 'g', handle: after.handle });
    await waitFor('the new events', () => after.events.length >= 10, patient);
    expect(
      after
        .values()
        .map(Number)
        .sort((x, y) => x - y),
    ).toEqual(numbers(10, 50));
  });

  test('a handled event that is not stored delays its own offset only', async () => {
    const stored = Promise.withResolvers<void>();
    const got = collect();
    let held: () => boolean = () => false;
    const handle: Subscription['handle'] = async (events, batch) => {
      await batch.durable();
      held = batch.held;
      if (events.some((e) => text(e) === '0'))
        batch.settlesWith({ durable: stored.promise, hurry: () => {} });
      await got.handle(events);
    };
    await subscribe({ topic, group: 'g', handle });
    for (const n of numbers(3)) {
      await log.publish(topic, [event('k', n)]);
      await waitFor('it is handled', () => got.values().includes(String(n)), patient);
    }
    // Offsets of other partitions are stored together with an offset that can advance, or later.
    await log.publish(
      topic,
      numbers(40, 3).map((n) => event(`other${n}`, n)),
    );
    await waitFor('the others to be handled', () => got.events.length === 43, patient);
    const partitionOf = ({ position }: LogEvent) => position.split(':')[0];
    const behind = got.events.filter((e) => partitionOf(e) === partitionOf(got.events[0] as LogEvent)).length;
    // The embedded log has one partition.
    if (stack.name === 'Kafka') expect(behind).toBeLessThan(43);
    await waitFor('the other offsets', async () => (await log.lag('g', topic)) <= behind, patient);
    expect(await log.lag('g', topic)).toBe(behind);
    // Kafka: from the first heartbeat on.
    await waitFor('the partition to be held', () => held(), patient);
    stored.resolve();
    await waitFor('the offset', async () => (await log.lag('g', topic)) === 0, patient);
  });

  test('a leaving member requests pending writes; unstored events are delivered again, in order', async () => {
    let asked = 0;
    let held: () => boolean = () => false;
    const got = collect();
    const member = await subscribe({
      topic,
      group: 'g',
      handle: async (events, batch) => {
        held = batch.held;
        const never = new Promise<void>(() => {});
        const soon = Promise.withResolvers<void>();
        const hurry = () => {
          asked++;
          soon.resolve();
        };
        batch.settlesWith({ durable: events.some((e) => text(e) === '1') ? never : soon.promise, hurry });
        await got.handle(events);
      },
    });
    for (const n of numbers(3)) {
      await log.publish(topic, [event('k', n)]);
      await waitFor('it is handled', () => got.values().includes(String(n)), patient);
    }
    await waitFor('the partition to be held', () => held(), patient);
    await member.close();
    expect(asked).toBe(3);
    expect(held()).toBe(false);
    const next = collect();
    await subscribe({ topic, group: 'g', handle: next.handle });
    await waitFor('the last one', () => next.values().includes('2'), patient);
    expect(next.values()).toEqual(['1', '2']);
  });

  test('a poison event becomes a dead letter with its reason, and the rest continues in order', async () => {
    await log.publish(
      topic,
      numbers(20).map((n) => ({ ...event('k', n), headers: { kind: 'test' } })),
    );
    const got = collect();
    await subscribe({
      topic,
      group: 'g',
      handle: async (events) => {
        const named = events.find((e) => text(e) === '7');
        if (named) throw new PoisonEventError(named, 'seven cannot be read');
        if (events.some((e) => text(e) === '13')) throw new TypeError('thirteen breaks the handler');
        await got.handle(events);
      },
    });
    await waitFor('the last event', () => got.values().includes('19'), patient);
    expect(firstArrivals(got.events)['k']).toEqual(numbers(20).filter((n) => n !== 7 && n !== 13));
    const dead = await log.readNewest(deadLetterTopic(topic), 10);
    expect(dead.map(text)).toEqual(['7', '13']);
    expect(dead.map((e) => e.headers)).toEqual([
      {
        kind: 'test',
        'dead-group': 'g',
        'dead-error': 'PoisonEventError: seven cannot be read',
        'dead-position': expect.stringMatching(new RegExp(`^${topic}/\\d+:\\d+$`)),
      },
      expect.objectContaining({ 'dead-error': 'TypeError: thirteen breaks the handler' }),
    ]);
    expect(dead.map((e) => e.key)).toEqual(['k', 'k']);
  });

  test('a transient failure is retried until it succeeds; no event is skipped or becomes a dead letter', async () => {
    const got = collect();
    let failures = 0;
    await subscribe({
      topic,
      group: 'g',
      handle: async (events) => {
        if (failures < 4 && events.some((e) => text(e) === '3')) {
          failures += 1;
          throw new DomainError('unavailable', 'The database is unavailable.');
        }
        await got.handle(events);
      },
    });
    await log.publish(
      topic,
      numbers(10).map((n) => event('k', n)),
    );
    await waitFor('all events', () => got.events.length >= 10, patient);
    expect(failures).toBe(4);
    expect(got.values().map(Number)).toEqual(numbers(10));
    expect(await log.readNewest(deadLetterTopic(topic), 10)).toEqual([]);
  });

  test('a subscription that is closed while its handler fails keeps its position', async () => {
    await log.publish(topic, [event('k', 1), event('k', 2)]);
    let tries = 0;
    const stuck = await subscribe({
      topic,
      group: 'g',
      handle: async () => {
        tries += 1;
        throw new DomainError('unavailable', 'The database is unavailable.');
      },
    });
    await waitFor('two tries', () => tries >= 2, patient);
    await stuck.close();
    const triesAtClose = tries;
    const got = collect();
    await subscribe({ topic, group: 'g', handle: got.handle });
    await waitFor('the events', () => got.events.length >= 2, patient);
    expect(got.values()).toEqual(['1', '2']);
    expect(tries).toBe(triesAtClose);
  });

  test('keys, headers, empty and 1 MB values arrive unchanged', async () => {
    const big = Buffer.alloc(1024 * 1024, 7);
    const headers = { traceparent: '00-ab-cd-01', 'content-type': 'application/x-protobuf', name: 'ヘッド' };
    const fromMs = Date.now();
    await log.publish(topic, [
      { key: 'キー', value: new Uint8Array(), headers },
      { key: 'キー', value: big },
    ]);
    const untilMs = Date.now();
    const got = collect();
    await subscribe({ topic, group: 'g', handle: got.handle });
    await waitFor('both', () => got.events.length >= 2, patient);
    const [first, second] = got.events as [LogEvent, LogEvent];
    expect([first.topic, first.key, first.headers]).toEqual([topic, 'キー', headers]);
    expect(first.value.byteLength).toBe(0);
    expect(Buffer.from(second.value).equals(big)).toBe(true);
    expect(second.headers).toEqual({});
    expect(first.timestampMs).toBeGreaterThanOrEqual(fromMs);
    expect(first.timestampMs).toBeLessThanOrEqual(untilMs);
    expect(first.position).toMatch(/^\d+:\d+$/);
  });

  // protects against stores/large-event
  test('an event that is too large is rejected and nothing of its call is stored', async () => {
    const events = [event('k', 1), { key: 'k', value: Buffer.alloc(3 * 1024 * 1024) }];
    await expect(log.publish(topic, events)).rejects.toMatchObject({ code: 'body_too_large' });
    expect(await log.readNewest(topic, 5)).toEqual([]);
  });

  test('readNewest returns the newest events, oldest first', async () => {
    expect(await log.readNewest(topic, 5)).toEqual([]);
    await log.publish(
      topic,
      numbers(30).map((n) => event('k', n)),
    );
    expect((await log.readNewest(topic, 7)).map(text)).toEqual(numbers(7, 23).map(String));
    expect((await log.readNewest(topic, 100)).map(text)).toEqual(numbers(30).map(String));
  });

  test('lag counts the unfinished events of a group', async () => {
    // On a slow machine the brokers may take longer to agree about a new topic than a call waits.
    const lag = async (): Promise<number | undefined> => {
      let found: number | undefined;
      const known = async () => {
        found = await log.lag('g', topic).catch((error) => {
          if (!isTransient(error)) throw error;
          return undefined;
        });
        return found !== undefined;
      };
      await waitFor('the lag to be known', known, patient);
      return found;
    };
    await log.publish(
      topic,
      numbers(30).map((n) => event(`k${n}`, n)),
    );
    expect(await lag()).toBe(30);
    const got = collect();
    const running = await subscribe({ topic, group: 'g', handle: got.handle });
    await waitFor('no lag', async () => (await lag()) === 0, patient);
    expect(got.events).toHaveLength(30);
    await running.close();
    await log.publish(
      topic,
      numbers(5).map((n) => event(`k${n}`, n)),
    );
    expect(await lag()).toBe(5);
  });

  test('committed offsets are before events that are not handled and durable, by partition, and stay after a restart', async () => {
    // On a slow machine the brokers may take longer to agree about a new topic than a call waits.
    const committed = () =>
      log.committed('g', topic).catch((error) => {
        if (!isTransient(error)) throw error;
        return new Map<number, number>();
      });
    expect(await committed()).toEqual(new Map());
    const held = Promise.withResolvers<void>();
    const got: LogEvent[] = [];
    const isHeld = (e: LogEvent) => text(e) === 'held';
    const handle: Subscription['handle'] = async (events, batch) => {
      got.push(...events);
      if (events.some(isHeld)) batch.settlesWith({ durable: held.promise, hurry: () => {} });
    };
    const running = await subscribe({ topic, group: 'g', handle });
    await log.publish(
      topic,
      numbers(20).map((n) => event(`k${n}`, n)),
    );
    /** Position after the last handled event, by partition. */
    const ends = (events: readonly LogEvent[]) => {
      const found = new Map<number, number>();
      for (const { partition, offset } of events.map(partitionAndOffset))
        found.set(partition, Math.max(found.get(partition) ?? 0, offset + 1));
      return found;
    };
    const reaches = async (wanted: ReadonlyMap<number, number>) => {
      const found = await committed();
      return [...wanted].every(([partition, offset]) => found.get(partition) === offset);
    };
    await waitFor('all events', () => got.length === 20, patient);
    await waitFor('their offsets', () => reaches(ends(got)), patient);
    await log.publish(topic, [event('k1', 'held')]);
    await waitFor('the held one', () => got.some(isHeld), patient);
    await log.publish(topic, [event('k1', 'behind it'), event('k2', 'marker')]);
    await waitFor('both', () => got.length === 23, patient);
    const { partition, offset } = partitionAndOffset(got.find(isHeld) as LogEvent);
    expect((await committed()).get(partition) ?? 0).toBeLessThanOrEqual(offset);
    held.resolve();
    await waitFor('all offsets', () => reaches(ends(got)), patient);
    await running.close();
    await close();
    await open();
    await log.ensureTopics([topic]);
    expect(await log.committed('g', topic)).toEqual(ends(got));
  });

  if (stack.name === 'Kafka') {
    test('a member that waits for events sets few timers in addition to its requests', async () => {
      const got = collect();
      await subscribe({ topic, group: 'g', handle: got.handle });
      await log.publish(topic, [event('k', 1)]);
      await waitFor('the event', () => got.events.length === 1, patient);
      const count = 12;
      let [timers, requests] = [0, 0];
      const hook = createHook({
        init: (_, type) => {
          if (type === 'Timeout') timers += 1;
        },
      });
      const sent = Promise.withResolvers<void>();
      const { write } = Socket.prototype;
      const spy = jest.spyOn(Socket.prototype, 'write').mockImplementation(function (this: Socket, ...args) {
        requests += 1;
        if (requests === count) sent.resolve();
        return write.apply(this, args as Parameters<typeof write>);
      } as typeof write);
      hook.enable();
      await sent.promise;
      hook.disable();
      spy.mockRestore();
      // A client that polls for work sets hundreds of timers while a fetch waits for its answer.
      expect(timers).toBeLessThan(20 * count);
    });
  }

  test('a closed log rejects publish with a transient error, and is not ready', async () => {
    const before = log;
    await close();
    await expect(before.publish(topic, [event('k', 1)])).rejects.toMatchObject({ code: 'unavailable' });
    expect(before.notReady()).toBeDefined();
    await open();
    await waitFor('the new log', () => log.notReady() === undefined, patient);
  });

  if (stack.broker) {
    test('a consumer that cannot restart reports this and requests the end of the process', async () => {
      const fatal: Error[] = [];
      // A broker permanently rejects a session this short.
      const other = await openLog(stack.address(), { sessionTimeoutMs: 50, onFatal: (e) => fatal.push(e) });
      const member = await other.log.subscribe({ topic, group: 'g', handle: async () => {} });
      await waitFor('the callback', () => fatal.length > 0, patient);
      expect(member.notReady()).toContain('failed');
      await other.close();
    });

    test('a broker that is killed and restarted loses and reorders no acknowledged event', async () => {
      const broker = stack.broker?.();
      if (!broker) return;
      const keys = numbers(6).map((n) => `device-${n}`);
      const got = collect();
      await subscribe({ topic, group: 'g', handle: got.handle });
      const acknowledged: Record<string, number> = {};
      let stop = false;
      // No publisher ends with an event of unknown state.
      const publishers = keys.map(async (key) => {
        for (let n = 0, last = false; !last; ) {
          last = stop;
          try {
            await log.publish(topic, [event(key, n)]);
            acknowledged[key] = ++n;
          } catch (error) {
            expect(error).toMatchObject({ code: 'unavailable' });
            last = false;
          }
        }
      });
      const each = (count: number) => () => keys.every((key) => (acknowledged[key] ?? 0) >= count);
      await waitFor('some events', each(50), patient);
      await broker.kill();
      const impatient = await openLog(stack.address(), { publishTimeoutMs: 1000 });
      await expect(impatient.log.publish(topic, [event('other', 0)])).rejects.toMatchObject({
        code: 'unavailable',
        internal: expect.stringContaining('not published within 1000 ms'),
      });
      expect(impatient.log.notReady()).toBeDefined();
      await broker.restart();
      await waitFor('readiness without a publish', () => !impatient.log.notReady(), patient);
      await impatient.close();
      const atRestart = Math.max(...Object.values(acknowledged));
      await waitFor('events after the restart', each(atRestart + 50), patient);
      stop = true;
      await Promise.all(publishers);
      const seen = () => firstArrivals(got.events.filter((e) => keys.includes(e.key)));
      const missing = () => {
        const found = seen();
        const open = keys.filter((k) => found[k]?.length !== acknowledged[k]);
        return open.map((k) => `${k}: ${found[k]?.length ?? 0} of ${acknowledged[k]}`);
      };
      await waitFor('all events', () => missing().length === 0, { ...patient, intervalMs: 200 }).catch(() => {
        throw new Error(`not all events arrived: ${missing().join(', ')}`);
      });
      expect(seen()).toEqual(Object.fromEntries(keys.map((key) => [key, numbers(acknowledged[key] ?? 0)])));
    });
  }
}
