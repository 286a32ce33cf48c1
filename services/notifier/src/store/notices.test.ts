import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { systemClock } from '@headset-cloud/kit/clock.ts';
import { deathsNotice, failingNotice, recoveredNotice } from '../domain/notice.ts';
import { createDeathStore, createNoticeStore, createOutageStore } from './notices.ts';

const lane = 'a-1/deviceEvent';
const facts = { lane, occasion: 'o-1', sinceMs: 1, waiting: 1, isSent: true, nowMs: 2 };
const failing = failingNotice({ ...facts, reason: 'tls' });
const recovered = recoveredNotice(facts);
const deaths = deathsNotice({
  ...{ applicationId: 'a-1', occasion: 'o-2', isSent: false, nowMs: 2 },
  deaths: [{ id: 'n-1', createdAtMs: 1, destination: 'deviceEvent' }],
});
let bed: TestBed;
beforeEach(() => {
  bed = openTestBed('notifier', { onMongo: true });
});
afterEach(() => bed.remove());

test('an outage is told, ended and settled once, each only of its occasion', async () => {
  const store = createOutageStore(bed.store, systemClock);
  const fresh = { occasion: 'o-1', sinceMs: 1, forMs: 5 };
  expect(await store.join(lane, fresh)).toMatchObject({ ...fresh, told: false, ended: false, owed: [] });
  expect(await store.join(lane, { occasion: 'o-9', sinceMs: 9, forMs: 9 })).toMatchObject(fresh);
  // Two instances count beside each other: the longer time stays.
  expect((await store.goOn(lane, 'o-1', 20))?.forMs).toBe(20);
  expect((await store.goOn(lane, 'o-1', 10))?.forMs).toBe(20);
  expect(await store.goOn(lane, 'o-9', 30)).toBeUndefined();
  expect(await store.tell(lane, 'o-9', failing)).toBe(false);
  expect(await store.tell(lane, 'o-1', failing)).toBe(true);
  expect(await store.tell(lane, 'o-1', failing)).toBe(false);
  expect(await store.drop(lane, 'o-1')).toBe(false);
  expect(await store.countTold()).toBe(1);
  const [told] = await store.all();
  expect(told?.owed).toEqual([failing]);
  expect(await store.end(lane, 'o-1', recovered)).toBe(true);
  expect(await store.end(lane, 'o-1', recovered)).toBe(false);
  // What was read before the end does not take the end's notice off.
  if (told) await store.settle(told);
  const [ended] = await store.all();
  expect(ended).toMatchObject({ ended: true, owed: [failing, recovered] });
  expect(await store.goOn(lane, 'o-1', 40)).toBeUndefined();
  expect(await store.countTold()).toBe(0);
  if (ended) await store.settle(ended);
  expect(await store.all()).toEqual([]);
  await store.join(lane, { ...fresh, occasion: 'o-2' });
  if (ended) await store.settle(ended);
  expect(await store.drop(lane, 'o-1')).toBe(false);
  expect(await store.drop(lane, 'o-2')).toBe(true);
});

test('a notice about deaths is decided once for each number; who read before the last one decides nothing', async () => {
  const store = createDeathStore(bed.store, systemClock);
  const telling = { ids: ['n-1'], notice: deaths };
  expect(await store.stateOf('a-1')).toEqual({ number: 0, telling: undefined });
  for (const number of [0, 1]) {
    expect(await store.tell('a-1', number, telling)).toBe(true);
    expect(await store.tell('a-1', number, telling)).toBe(false);
    expect(await store.stateOf('a-1')).toEqual({ number, telling });
    await store.settle('a-1', number);
    await store.settle('a-1', number);
    expect(await store.stateOf('a-1')).toEqual({ number: number + 1, telling: undefined });
    expect(await store.tell('a-1', number, telling)).toBe(false);
  }
});

test('a notice becomes one delivery, with its removal where it is for the feed only', async () => {
  const store = createNoticeStore(bed.store, { deliveredMs: 1000, deadMs: 2000 }, { now: () => 5 });
  expect([await store.insert(failing), await store.insert(failing), await store.insert(deaths)]).toEqual([
    ...[true, false, true],
  ]);
  const found = await bed.store
    .collection<{ _id: string }>('deliveries')
    .find({}, { sort: { _id: 1 } })
    .toArray();
  expect(found).toMatchObject([
    { _id: failing.id, lane: 'a-1/noticeEvent', status: 'pending', unplaced: true },
    { _id: deaths.id, status: 'unsent', unplaced: true, expireAt: new Date(1005) },
  ]);
  expect(found[0]).not.toHaveProperty('expireAt');
  expect(await store.waiting('a-1/noticeEvent')).toBe(1);
});
