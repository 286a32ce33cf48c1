import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import type { QueueEntry } from '../domain/chain.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { TryOutcome } from '../domain/next-step.ts';
import { DestinationHealths } from './destination-health.ts';
import { FinishedOrders } from './finished-orders.ts';
import { Lane, type LaneContext } from './lane.ts';
import type { Probes } from './probes.ts';

const logger = createLogger({ service: 'notifier', level: 'silent' });
let time: FakeTime;
let writer: { full: boolean; has(id: string): boolean };
/** Ids of the deliveries that were tried, in order. */
let tried: string[];
/** Answers the next tries; by default a try is delivered. */
let outcomes: TryOutcome[];
/** Reports whether the delivery with this id belongs to this instance. */
let recorded: Map<string, PromiseWithResolvers<boolean>>;
let lane: Lane;

beforeEach(() => {
  time = createFakeTime(1_700_000_000_000);
  writer = { full: false, has: () => false };
  tried = [];
  outcomes = [];
  recorded = new Map();
  const delivered: TryOutcome = { kind: 'attempted', change: { status: 'delivered' } as never };
  lane = new Lane('a-1/deviceEvent', {
    ...{ time, logger, random: () => 0.5, writer, finished: new FinishedOrders() },
    settings: { windowSize: 10, orderWaitMs: 1000, unsetRetryMs: 1000, limit: {} },
    attempts: {
      async admit(_: string, { delivery }: QueueEntry) {
        tried.push(delivery.id);
        return outcomes.shift() ?? delivered;
      },
    },
    records: {
      lacks: () => false,
      maySendUnrecorded: () => true,
      recorded: (id: string) => recorded.get(id)?.promise ?? Promise.resolve(true),
      change: () => {},
    },
    healths: new DestinationHealths({
      watch: { failed: () => {}, delivered: () => {}, unset: () => {} },
      ...{ logger, random: () => 0.5, time },
      rules: { maxInFlight: 1, failingAfter: 5, probeFirstMs: 1000, probeMaxMs: 1000 },
      probesOf: () => ({}) as Probes,
    }),
    memory: { max: 100, free: () => 100 },
    stopping: () => false,
  } as unknown as LaneContext);
});

function accept(...ids: string[]): void {
  const one = { order: 'none', replaceable: false, dueAtMs: 0, body: Buffer.from('{}') };
  lane.accept(ids.map((id) => ({ ...one, id }) as unknown as Delivery));
  lane.dispatch();
}

test('while too many changes are unstored nothing starts; afterwards deliveries start without another event', async () => {
  writer.full = true;
  accept('n-1', 'n-2');
  await time.advance(10_000);
  expect(tried).toEqual([]);
  writer.full = false;
  await time.advance(100);
  expect(tried).toEqual(['n-1', 'n-2']);
  expect(lane.size).toBe(0);
});

test('a delivery that waits is tried again when its time has come, also if others are tried in between', async () => {
  outcomes = [{ kind: 'blocked', untilMs: time.now() + 500 }];
  accept('n-1');
  await time.advance(400);
  accept('n-2');
  await time.advance(99);
  expect(tried).toEqual(['n-1', 'n-2']);
  await time.advance(2);
  expect(tried).toEqual(['n-1', 'n-2', 'n-1']);
});

test('a waiting delivery that turns out to belong to another instance is not tried again', async () => {
  const owner = Promise.withResolvers<boolean>();
  recorded.set('n-1', owner);
  outcomes = [{ kind: 'blocked', untilMs: time.now() + 500 }];
  accept('n-1');
  await time.advance(100);
  owner.resolve(false);
  await time.advance(1000);
  expect(tried).toEqual(['n-1']);
  expect(lane.size).toBe(0);
});

test('after the database was unavailable the lane pauses, and then resumes', async () => {
  outcomes = [{ kind: 'unknown' }];
  accept('n-1');
  await time.advance(50);
  expect(tried).toEqual(['n-1']);
  await time.advance(1000);
  expect(tried).toEqual(['n-1', 'n-1']);
});
