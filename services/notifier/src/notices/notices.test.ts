import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import type { NoticeStore } from '../ports/notice-store.ts';
import { MongoDeliveryStore } from '../store/deliveries.ts';
import type { DeliveryDocument } from '../store/documents.ts';
import { createNoticeStore } from '../store/notices.ts';
import { AttemptResults } from './attempt-results.ts';
import { Notices } from './notices.ts';

const lane = 'a-1/deviceEvent';
const hourMs = 3_600_000;
const minuteMs = 60_000;
const stepMs = 5 * minuteMs;
const kept = { deliveredMs: 30 * 24 * hourMs, deadMs: 90 * 24 * hourMs };
type Instance = AttemptResults & Pick<Notices, 'check'>;
let bed: TestBed;
let time: FakeTime;
let running: Instance[];
/** Applications for which devices does not answer. */
let unanswered: Set<string>;
beforeEach(async () => {
  bed = openTestBed('notifier', { onMongo: true });
  time = createFakeTime();
  running = [];
  unanswered = new Set();
  await deliver({ _id: 'waiting' });
});
afterEach(() => bed.remove());

const deliveries = () => bed.store.collection<DeliveryDocument>('deliveries');
const deliver = (...all: Partial<DeliveryDocument>[]) =>
  deliveries().insertMany(
    all.map(
      (one) =>
        ({ applicationId: 'a-1', destination: 'deviceEvent', status: 'pending', lane, ...one }) as never,
    ),
  );
/** Stores callbacks that are dead now. */
const giveUp = (name: string, count: number, applicationId = 'a-1') => {
  const now = { createdAtMs: time.now(), dueAtMs: time.now() };
  const one = (_: unknown, i: number) =>
    ({ _id: `${name}-${i}`, applicationId, status: 'dead', ...now }) as const;
  return deliver(...Array.from({ length: count }, one));
};

/** An instance that checks only when the test calls it. `wrapped` wraps its store. */
function start(wrapped: (store: NoticeStore) => NoticeStore = (store) => store): Instance {
  const results = new AttemptResults(time);
  const notices = new Notices({
    store: wrapped(createNoticeStore(bed.store, kept, time)),
    deliveries: new MongoDeliveryStore(bed.store, 'instance', kept, time),
    destinations: {
      async get(applicationId) {
        if (unanswered.has(applicationId)) throw new Error('devices is unavailable');
        return undefined;
      },
    },
    forgottenApplications: { read: async () => new Set() },
    results,
    ...{ scheduler: { foundWork() {} }, metrics: { notices: { inc() {} } }, time },
    logger: createLogger({ service: 'notifier', level: 'silent' }),
    ...{ afterMs: hourMs, everyMs: minuteMs },
  });
  const instance = Object.assign(results, { check: () => notices.check() });
  running.push(instance);
  return instance;
}

type Write = 'insert' | 'failed' | 'end';
/** Rejects every call after the n-th write of a kind (`dies`), or only this write, which is not made (`refuses`). */
function broken(kind: 'dies' | 'refuses', write: Write, times = 1) {
  const state = { met: false, left: times };
  const wrapped = (store: NoticeStore) =>
    new Proxy(store, {
      get: (target, name: keyof NoticeStore) =>
        name === 'dead'
          ? target.dead
          : async (...args: never[]) => {
              if (state.met && kind === 'dies') throw new Error('killed');
              const isIt = name === write && --state.left === 0;
              if (isIt) state.met = true;
              if (isIt && kind === 'refuses') throw new Error('the database is unavailable');
              const answer = await (target[name] as (...all: never[]) => unknown)(...args);
              if (isIt) throw new Error('killed');
              return answer;
            },
    });
  return { state, wrapped };
}

const notices = async () =>
  (
    await deliveries()
      .find({ destination: 'noticeEvent' }, { sort: { createdAtMs: 1 } })
      .toArray()
  ).map(({ body }) => JSON.parse(Buffer.from((body as { buffer: Uint8Array }).buffer ?? body).toString()));
const types = async () =>
  (await notices()).map(({ operationId }) => operationId.replace(/^notify-(destination-)?/, ''));
const counts = async (applicationId = 'a-1') =>
  (await notices()).flatMap((one) => (one.applicationId === applicationId ? (one.count ?? []) : []));
const outages = () => bed.store.collection('outages').countDocuments({});
/** All running instances check at the same time. A dead instance is replaced. */
async function check(): Promise<void> {
  const results = await Promise.allSettled(running.map((one) => one.check()));
  const errors = results.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
  if (errors.some((error) => error.includes('killed'))) running = [start()];
  expect(errors.filter((error) => !/killed|unavailable/.test(error))).toEqual([]);
}
async function fail(forMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < forMs; passedMs += stepMs) {
    for (const one of running) one.failed(lane, 'time_out');
    await check();
    await time.advance(stepMs);
  }
}
async function succeed(): Promise<void> {
  for (const one of running) one.delivered(lane);
  await check();
}
/** Advances until each interval that has begun is over and was read. */
async function pass(): Promise<void> {
  for (let i = 0; i < 4; i++) {
    await time.advance(minuteMs);
    await check();
  }
}

test('two instances create one notice after an hour of failures, and one notice of the end', async () => {
  running = [start(), start()];
  const sinceMs = time.now();
  await fail(hourMs);
  expect(await types()).toEqual([]);
  await fail(hourMs);
  await succeed();
  await succeed();
  expect(await types()).toEqual(['failing', 'recovered']);
  for (const { sinceTimestamp } of await notices()) expect(sinceTimestamp).toBe(sinceMs);
  const [stored] = await deliveries().find({ destination: 'noticeEvent' }).toArray();
  expect(stored).toMatchObject({ status: 'unsent', unplaced: true, expireAt: expect.any(Date) });
  expect(await outages()).toBe(0);
});

test('no notice for a shorter time, for a setting without pending callbacks, or for a URL that one instance reaches', async () => {
  const a = start();
  await fail(hourMs);
  await succeed();
  await fail(hourMs);
  const b = start();
  b.delivered(lane);
  await check();
  for (let i = 0; i < 30; i++) {
    a.failed(lane, 'time_out');
    await check();
    b.delivered(lane);
    await check();
    await time.advance(stepMs);
  }
  await deliveries().deleteMany({});
  running = [a];
  await fail(2 * hourMs);
  expect(await types()).toEqual([]);
});

test('an outage continues after a restart; removing the URL ends it unless it has a notice', async () => {
  start();
  await fail(hourMs);
  running = [];
  const b = start();
  await fail(stepMs);
  expect(await types()).toEqual(['failing']);
  b.unset(lane);
  await check();
  running = [];
  start();
  await succeed();
  expect(await types()).toEqual(['failing', 'recovered']);
  await fail(hourMs);
  running[0]?.unset(lane);
  await fail(stepMs);
  expect(await types()).toEqual(['failing', 'recovered']);
});

test.each([
  ['failed', 1],
  ['insert', 1],
  ['insert', 2],
  ['end', 1],
] as const)(
  'a process that dies after %s (%i): one notice of an outage, and one notice of its end',
  async (write, times) => {
    const { state, wrapped } = broken('dies', write, times);
    start(wrapped);
    await fail(2 * hourMs);
    await succeed();
    await succeed();
    expect(state.met).toBe(true);
    expect(await types()).toEqual(['failing', 'recovered']);
    expect(await outages()).toBe(0);
  },
);

test('a process that dies before it removes an outage: later failures are another outage', async () => {
  start(broken('dies', 'insert', 2).wrapped);
  await fail(2 * hourMs);
  await succeed();
  await fail(3 * hourMs);
  await succeed();
  expect(await types()).toEqual(['failing', 'recovered', 'failing', 'recovered']);
});

test.each(['failed', 'insert', 'end'] as const)('the database fails at %s: it is retried', async (write) => {
  const { state, wrapped } = broken('refuses', write);
  start(wrapped);
  await fail(2 * hourMs);
  await succeed();
  await check();
  expect(state.met).toBe(true);
  expect(await types()).toEqual(['failing', 'recovered']);
  expect(await outages()).toBe(0);
});

test('dead callbacks of a minute are one notice of two instances, also with an instance that starts later', async () => {
  running = [start(), start()];
  await giveUp('x', 5);
  await giveUp('y', 2, 'a-2');
  await pass();
  await giveUp('z', 3);
  await pass();
  running = [start()];
  await pass();
  expect([await counts(), await counts('a-2')]).toEqual([[5, 3], [2]]);
});

test('dead callbacks that are stored late because the database was unavailable are counted', async () => {
  start(broken('refuses', 'outages' as Write, 1).wrapped);
  const endedAtMs = time.now();
  await time.advance(10 * minuteMs);
  // The first check after the database is available may come before the late writes.
  await check();
  await check();
  await deliver({ _id: 'late', status: 'dead', createdAtMs: endedAtMs, dueAtMs: endedAtMs });
  await pass();
  expect(await counts()).toEqual([1]);
});

test.each(['dies', 'refuses'] as const)(
  'a store that %s while notices of several applications are stored: each has one',
  async (kind) => {
    const { state, wrapped } = broken(kind, 'insert', 2);
    start(wrapped);
    for (const id of ['a-1', 'a-2', 'a-3']) await giveUp(id, 4, id);
    await pass();
    expect(state.met).toBe(true);
    expect([await counts(), await counts('a-2'), await counts('a-3')]).toEqual([[4], [4], [4]]);
  },
);

test('an application for which devices does not answer gets its notice later, and delays no other', async () => {
  unanswered.add('a-1');
  start();
  for (const id of ['a-1', 'a-2']) await giveUp(id, 4, id);
  await pass();
  expect([await counts(), await counts('a-2')]).toEqual([[], [4]]);
  unanswered.clear();
  await check();
  expect(await counts()).toEqual([4]);
});

test('after a clock is set back by two hours notices are only late', async () => {
  start();
  await giveUp('x', 1);
  await pass();
  await fail(hourMs / 2);
  time.stepWallClock(-2 * hourMs);
  await giveUp('y', 1);
  await pass();
  expect(await counts()).toEqual([1, 1]);
  await fail(4 * hourMs);
  await succeed();
  expect((await types()).sort()).toEqual(['deliveries-dead', 'deliveries-dead', 'failing', 'recovered']);
  for (const { timestamp, sinceTimestamp = 0 } of await notices())
    expect(sinceTimestamp).toBeLessThanOrEqual(timestamp);
});
