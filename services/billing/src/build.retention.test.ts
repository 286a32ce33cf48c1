import { toJson } from '@bufbuild/protobuf';
import { onEmbedded } from '@headset-cloud/embedded/testing/bed.ts';
import { UsageKind } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import { GetBillResponseSchema } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { Bill } from './domain/bill.ts';
import { parseZone } from './domain/month.ts';
import { type BillSources, makeBill } from './make-bill.ts';
import { type BillDocument, collections, type SheetDocument, type UsageDocument } from './store/documents.ts';
import { oldUsage } from './store/retention.ts';
import { imei, openWorld, type World } from './testing/world.ts';

const dayMs = 86_400_000;
const hour = 3_600_000n;
const at = (text: string) => BigInt(Date.parse(`${text}+09:00`));
let world: World;
/** 21 November 2026. */
let todayMs: number;
beforeEach(async () => {
  world = await openWorld('UTC+9', 50);
  todayMs = world.nowMs;
});
afterEach(() => world.close());

const usage = (usageId: string, startedAtMs: bigint, given: object = {}) => ({
  ...{ usageId, deviceId: imei(1), startedAtMs, durationMs: hour },
  ...given,
});
const bill = async (month: number, year = 2026) =>
  toJson(GetBillResponseSchema, await world.billing.getBill({ applicationId: 'app', year, month }));
const used = () => world.store.collection<UsageDocument>(collections.usage);
const sheets = () => world.store.collection<SheetDocument>(collections.sheets);
const left = async () =>
  (
    await used()
      .find({}, { sort: { _id: 1 } })
      .toArray()
  ).map(({ _id }) => _id);
/** Waits until a retention run that began after this call has ended: the second run that ends. */
async function ran() {
  const states = world.store.collection('retention');
  for (let runs = 0; runs < 2; runs++) {
    world.nowMs += 100;
    const sinceMs = world.nowMs;
    await waitFor('a run', async () => {
      // A run is due some time after the end of the one before.
      world.nowMs += 100;
      const state = await states.findOne({ _id: 'usage' as never });
      return ((state?.['completedAtMs'] as number | undefined) ?? 0) >= sinceMs;
    });
  }
}

test('usage is deleted 400 days after its month, and the bills of closed months stay unchanged', async () => {
  await world.use(
    usage('a', at('2026-09-10T12:00:00')),
    usage('b', at('2026-09-11T12:00:00'), { deviceId: '' }),
    // In two months.
    usage('c', at('2026-09-30T23:00:00'), { durationMs: 3n * hour }),
    usage('d', at('2026-11-10T12:00:00'), { kind: UsageKind.SPEECH_RECOGNITION }),
  );
  const bills = [await bill(9), await bill(10)];
  expect(JSON.stringify(bills[0])).toContain('"videoMeetingHours":2');
  // The last moment at which October, and with it `c`, is kept.
  world.nowMs = Number(at('2026-10-01T00:00:00')) + 400 * dayMs;
  await ran();
  expect(await left()).toEqual(['a', 'b', 'c', 'd']);
  world.nowMs += 2 * dayMs;
  await ran();
  expect(await left()).toEqual(['c', 'd']);
  world.nowMs += 31 * dayMs;
  await ran();
  expect(await left()).toEqual(['d']);
  expect(await sheets().countDocuments({ month: 2026 * 12 + 8 })).toBe(0);
  expect([await bill(9), await bill(10)]).toEqual(bills);
});

test('usage with a pending audit record is kept until the record is published', async () => {
  await world.use(usage('a', at('2026-09-10T12:00:00')), usage('b', at('2026-09-10T13:00:00')));
  const setPending = async (update: object) => used().updateOne({ _id: 'a' }, update);
  // In the future, so that the outbox does not publish it.
  await setPending({ $set: { auditAtMs: Number(at('2036-01-01T00:00:00')), audit: [] } });
  world.nowMs = Number(at('2026-12-01T00:00:00')) + 400 * dayMs;
  await ran();
  expect(await left()).toEqual(['a']);
  await setPending({ $unset: { auditAtMs: true, audit: true } });
  await ran();
  expect(await left()).toEqual([]);
});

test('usage that arrives after its month was frozen, new or repeated, changes no bill', async () => {
  await world.use(usage('a', at('2026-09-10T12:00:00')));
  const before = await bill(9);
  world.nowMs = todayMs + 430 * dayMs;
  await ran();
  expect(await left()).toEqual([]);
  await world.use(usage('a', at('2026-09-10T12:00:00')), usage('late', at('2026-09-12T12:00:00')));
  expect(await bill(9)).toEqual(before);
  world.nowMs += 1000;
  await ran();
  expect(await left()).toEqual([]);
  expect(await bill(9)).toEqual(before);
});

test('a bill whose usage is deleted during its computation is the frozen bill', async () => {
  const hours = { videoMeeting: 7, speechRecognition: 0 };
  const whole: Bill = { numberOfDevices: 0, devices: [], others: hours };
  let frozen: Bill | undefined;
  const sources: BillSources = {
    usage: {
      // Another instance freezes the bill and deletes the usage before this one has read it.
      async *around() {
        yield* [];
        frozen = whole;
      },
    },
    activity: { async *changes() {} },
    plans: { async *histories() {} },
    frozen: { get: async () => frozen },
    ...{ clock: { now: () => todayMs }, zone: parseZone('UTC+9') },
  };
  expect(await makeBill(sources, 'app', { year: 2025, month: 9 })).toEqual(whole);
});

test('a run that dies after it froze a bill is repeated, and the first frozen bill counts', async () => {
  await world.use(usage('a', at('2026-09-10T12:00:00')));
  const before = await bill(9);
  const stores = { usage: used(), sheets: sheets() };
  const dying = oldUsage(stores, 0, async (applicationId, month) => {
    await world.billing.getBill({ applicationId, ...month });
    throw new Error('killed');
  });
  await expect(dying.remove(await dying.find(todayMs, 20), todayMs)).rejects.toThrow('killed');
  expect(await left()).toEqual(['a']);
  world.nowMs = todayMs + 430 * dayMs;
  await ran();
  expect(await left()).toEqual([]);
  expect(await world.store.collection<BillDocument>(collections.bills).countDocuments()).toBe(1);
  expect(await bill(9)).toEqual(before);
});

onEmbedded('old usage is found by an index, whatever the amount of usage', async () => {
  await world.use(
    ...Array.from({ length: 200 }, (_, n) => usage(`now ${n}`.replace(' ', '-'), at('2026-11-10T12:00:00'))),
    usage('a', at('2026-09-10T12:00:00')),
  );
  const kind = oldUsage({ usage: used(), sheets: sheets() }, 0, async () => {});
  const before = world.documentsExamined();
  expect((await kind.find(todayMs, 20)).map(({ _id }) => _id)).toEqual(['a']);
  await kind.oldestMs();
  expect(world.documentsExamined() - before).toBeLessThan(10);
});
