import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deadLetterTopic, type EventLog, type LogEvent } from '@headset-cloud/eventlog/types.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { type EmbeddedDatabase, openEmbeddedDatabase } from './database.ts';
import { createEmbeddedLog, type EmbeddedLogOptions } from './log.ts';
import { diskOf } from './testing/disk.ts';
import { failingCommits } from './testing/failing-commits.ts';

const logger = createLogger({ service: 'test', level: 'silent' });
const topic = 'device-reports';
const event = (n: number) => ({ key: 'k', value: Buffer.from(String(n)) });
const values = (events: readonly LogEvent[]) => events.map((e) => Number(Buffer.from(e.value).toString()));

let directory: string;
let nowMs: number;
let db: EmbeddedDatabase;
let log: EventLog;

async function open(options: EmbeddedLogOptions = {}): Promise<void> {
  db = openEmbeddedDatabase({ directory, clock: { now: () => nowMs } });
  log = createEmbeddedLog(db, logger, options);
  await log.ensureTopics([topic]);
}

async function close(): Promise<void> {
  await log.close();
  await db.close();
}

/** Subscribes and returns the events that arrive. */
async function consume(group: string): Promise<LogEvent[]> {
  const got: LogEvent[] = [];
  await log.subscribe({
    topic,
    group,
    handle: async (events) => {
      got.push(...events);
    },
  });
  return got;
}

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'embedded-log-'));
  nowMs = 1_000_000;
});
afterEach(async () => {
  await close();
  rmSync(directory, { recursive: true, force: true });
});

test('an event is not delivered before it is committed', async () => {
  await open();
  const batches: number[][] = [];
  const handle = async (events: readonly LogEvent[]) => {
    batches.push(values(events));
  };
  await log.subscribe({ topic, group: 'g', handle });
  const first = log.publish(topic, [event(1)]);
  // Runs before the group wakes for the first event: the connection sees the second one, uncommitted.
  const second = db.untilDurable().then(() => log.publish(topic, [event(2)]));
  await first;
  await waitFor('the first event', () => batches.length > 0, { intervalMs: 0 });
  await second;
  await waitFor('the second event', () => batches.length > 1);
  expect(batches).toEqual([[1], [2]]);
});

test('an event is delivered while a sync runs, and its publish resolves only when it is durable', async () => {
  const disk = diskOf(directory);
  db = openEmbeddedDatabase({ directory, clock: { now: () => nowMs }, walSync: disk.walSync });
  log = createEmbeddedLog(db, logger);
  await log.ensureTopics([topic]);
  const got = await consume('g');
  disk.hold();
  await log.publish(topic, [event(1)], { settle: 'in-order' });
  let durable = false;
  const published = log.publish(topic, [event(2)]).then(() => {
    durable = true;
  });
  await waitFor('both events', () => got.length === 2);
  await new Promise(setImmediate);
  expect(durable).toBe(false);
  disk.release();
  await published;
});

test('each publish wakes its subscribers, without losing a wake-up', async () => {
  await open();
  const got = await consume('g');
  for (let n = 0; n < 200; n += 1) {
    await log.publish(topic, [event(n)]);
    await waitFor('the event', () => got.length === n + 1, { intervalMs: 0 });
  }
});

test('close stores a position that is not stored yet', async () => {
  await open({ flushIntervalMs: 3_600_000 });
  await log.publish(topic, [event(1), event(2)]);
  const got = await consume('g');
  await waitFor('the events', () => got.length === 2);
  await close();
  await open();
  expect(await log.lag('g', topic)).toBe(0);
});

test('a position is stored soon after its events are handled, without a close', async () => {
  await open({ flushIntervalMs: 5 });
  await log.publish(topic, [event(1), event(2)]);
  await consume('g');
  const stored = () =>
    db.sql.prepare('SELECT position FROM log_groups WHERE name = ?').get('g')?.['position'];
  await waitFor('the stored position', () => stored() === 2);
});

test('events that are old enough and that every group has handled are deleted, in small steps', async () => {
  await open({ retentionMs: 1000, trimIntervalMs: 5, trimStep: 3, flushIntervalMs: 5 });
  await log.publish(
    topic,
    Array.from({ length: 10 }, (_, n) => event(n)),
  );
  const got = await consume('done');
  await waitFor('the events', () => got.length === 10);
  expect(await log.readNewest(topic, 100)).toHaveLength(10);
  nowMs += 1001;
  await waitFor('the deletion of old events', async () => (await log.readNewest(topic, 100)).length === 1);
  // The newest event stays, so that its offset is not reused.
  expect(values(await log.readNewest(topic, 100))).toEqual([9]);
  await log.publish(topic, [event(10)]);
  await waitFor('the next event', () => got.length === 11);
  expect(got.at(-1)?.position).toBe('0:11');
});

test('old events stay until every group has handled them', async () => {
  await open({ retentionMs: 1000, trimIntervalMs: 5, flushIntervalMs: 5 });
  await log.ensureTopics(['marker']);
  const gate = Promise.withResolvers<void>();
  const slow: LogEvent[] = [];
  await log.subscribe({
    topic,
    group: 'slow',
    maxBatch: 1,
    handle: async (events) => {
      await gate.promise;
      slow.push(...events);
    },
  });
  await log.publish(
    topic,
    Array.from({ length: 5 }, (_, n) => event(n)),
  );
  const got = await consume('fast');
  await waitFor('the fast group', () => got.length === 5);
  // After two deletions in the marker topic, one run over both topics is complete.
  for (let look = 0; look < 2; look += 1) {
    await log.publish('marker', [event(1), event(2)]);
    nowMs += 10_000;
    const trimmed = async () => (await log.readNewest('marker', 9)).length === 1;
    await waitFor('old events of the other topic to go', trimmed);
  }
  gate.resolve();
  await waitFor('the slow group', () => slow.length === 5);
  expect(values(slow)).toEqual([0, 1, 2, 3, 4]);
  await waitFor('the deletion of old events', async () => (await log.readNewest(topic, 100)).length === 1);
});

describe('a group that is not subscribed', () => {
  const hourMs = 3_600_000;
  const retentionMs = 7 * 24 * hourMs;
  let time: FakeTime;

  const start = async () => {
    time = createFakeTime();
    await open({ retentionMs, trimIntervalMs: hourMs / 2, flushIntervalMs: 0, time });
  };
  /** When each group was last subscribed. */
  const groups = (): Record<string, unknown> =>
    Object.fromEntries(
      db.sql
        .prepare('SELECT name, subscribed_at FROM log_groups')
        .all()
        .map((row) => [row['name'], row['subscribed_at']]),
    );
  /** Advances time until the group `new` was seen: the same write updates the other groups. */
  const pass = async (ms: number) => {
    nowMs += ms;
    await waitFor('the group that is subscribed is seen', async () => {
      await time.advance(hourMs / 2);
      return groups()['new'] === nowMs;
    });
  };
  const kept = async () => values(await log.readNewest(topic, 100));

  /** The group `old` has handled the first of three events, the group `new` all of them. */
  beforeEach(async () => {
    await start();
    const got: LogEvent[] = [];
    const old = await log.subscribe({ topic, group: 'old', handle: async (some) => void got.push(...some) });
    await log.publish(topic, [event(0)]);
    await waitFor('the event', () => got.length === 1);
    await old.close();
    await time.advance(0);
    await log.publish(topic, [event(1), event(2)]);
    const next = await consume('new');
    await waitFor('the events', () => next.length === 3);
    await time.advance(0);
  });

  test('delays the deletion of old events for the retention period only', async () => {
    await pass(retentionMs);
    expect(Object.keys(groups())).toEqual(['new', 'old']);
    expect(log.unusedGroupAgeMs?.()).toBe(retentionMs);
    await pass(hourMs);
    expect(Object.keys(groups())).toEqual(['new']);
    expect(log.unusedGroupAgeMs?.()).toBe(0);
    await waitFor('old events to go', async () => (await kept()).length === 1);
    expect(await log.lag('new', topic)).toBe(0);
  });

  test('that is subscribed again within an hour after a long stop of the process continues', async () => {
    await close();
    nowMs += 2 * retentionMs;
    await start();
    await time.advance(hourMs / 2);
    const [got, next] = [await consume('old'), await consume('new')];
    await waitFor('the unhandled events', () => got.length === 2);
    expect(values(got)).toEqual([1, 2]);
    await pass(hourMs);
    expect(Object.keys(groups())).toEqual(['new', 'old']);
    expect(next).toEqual([]);
  });

  test('of an older release gets the whole retention period from the upgrade', async () => {
    await close();
    db = openEmbeddedDatabase({ directory });
    db.sql.exec('ALTER TABLE log_groups DROP COLUMN subscribed_at');
    await db.close();
    nowMs += 2 * retentionMs;
    await start();
    await time.advance(hourMs / 2);
    await waitFor('its time is stored', () => groups()['old'] === nowMs);
    await consume('new');
    await pass(retentionMs);
    expect(Object.keys(groups())).toEqual(['new', 'old']);
    await pass(hourMs);
    expect(Object.keys(groups())).toEqual(['new']);
  });
});

test('dead letters outlive ordinary events', async () => {
  await open({ retentionMs: 1000, deadLetterRetentionMs: 5000, trimIntervalMs: 5 });
  const dead = deadLetterTopic(topic);
  for (const name of [topic, dead]) await log.publish(name, [event(1), event(2)]);
  nowMs += 2000;
  await waitFor('the deletion of old events', async () => (await log.readNewest(topic, 9)).length === 1);
  expect(await log.readNewest(dead, 9)).toHaveLength(2);
});

test('an unknown topic is rejected with an error that names it', async () => {
  await open();
  await expect(log.publish('unheard-of', [event(1)])).rejects.toMatchObject({
    code: 'unavailable',
    internal: expect.stringContaining('unheard-of'),
  });
});

test.each([
  ['more than are kept in memory', 5000, 8],
  ['larger than what is kept in memory', 40, 100_000],
])('events come whole and in order, also to a group that is late: %s', async (_, count, bytes) => {
  await open();
  const published = Array.from({ length: count }, (_, i) => ({
    key: `k${i % 3}`,
    value: Buffer.from(String(i).padStart(bytes, '0')),
    ...(i % 2 === 0 && { headers: { number: String(i) } }),
  }));
  const early = await consume('early');
  const gate = Promise.withResolvers<void>();
  const held: LogEvent[] = [];
  await log.subscribe({
    topic,
    group: 'held',
    maxBatch: 3,
    handle: async (events) => {
      await gate.promise;
      held.push(...events);
    },
  });
  for (let at = 0; at < count; at += 20) await log.publish(topic, published.slice(at, at + 20));
  gate.resolve();
  const late = await consume('late');
  await waitFor('all groups', () => [early, held, late].every((got) => got.length === count), {
    timeoutMs: 20_000,
  });
  await close();
  await open();
  const afterRestart = await consume('after a restart');
  await waitFor('the last group', () => afterRestart.length === count);
  for (const got of [early, held, late]) {
    expect(got.length).toBe(count);
    got.forEach((event, i) => {
      const { topic: name, value, position, timestampMs, ...rest } = event;
      const { key, headers = {} } = published[i] as (typeof published)[number];
      expect([i, name, position, timestampMs, rest]).toEqual([
        i,
        topic,
        `0:${i + 1}`,
        nowMs,
        { key, headers },
      ]);
      expect(Buffer.compare(value, afterRestart[i]?.value as Uint8Array)).toBe(0);
    });
  }
  expect(values(afterRestart)).toEqual(published.map((_, i) => i));
});

test('an event is not delivered if its transaction fails; the next event gets its offset', async () => {
  await open();
  const got = await consume('g');
  await log.publish(topic, [event(1)]);
  const failing = failingCommits(db);
  const turn = [log.publish(topic, [event(2), event(3)]), failing()];
  expect((await Promise.allSettled(turn)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await log.publish(topic, [event(4)]);
  await waitFor('the next event', () => got.length > 1);
  expect(values(got)).toEqual([1, 4]);
  expect(got.map(({ position }) => position)).toEqual(['0:1', '0:2']);
});
