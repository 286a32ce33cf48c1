import type { TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { noFailpoints } from '@headset-cloud/kit/failpoints.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import { createFakeTime } from '@headset-cloud/kit/testing/fake-time.ts';
import type { Notice } from '../domain/notice.ts';
import type { DeliveryDocument } from '../store/documents.ts';
import { createDeathStore } from '../store/notices.ts';
import { eventDocument, openFeedBed } from '../testing/feed-bed.ts';
import { Deaths } from './deaths.ts';

const hourMs = 3_600_000;
const everyMs = 250;
let bed: TestBed;
let deliveries: StoreCollection<DeliveryDocument>;
beforeEach(async () => {
  ({ bed, deliveries } = await openFeedBed());
});
afterEach(() => bed.remove());

test('two instances, one with a clock an hour ahead, count each callback given up once, in at most one notice per interval', async () => {
  const time = createFakeTime();
  const stored = new Map<string, { readonly notice: Notice; readonly atMs: number }>();
  const running = [0, hourMs].map((aheadMs) => {
    const clocks = { ...time, now: () => time.now() + aheadMs };
    return new Deaths({
      store: createDeathStore(bed.store, clocks),
      notices: {
        isRegistered: async () => true,
        store: async (notices) => {
          const atMs = time.monotonicNow();
          for (const notice of notices) {
            if (!stored.has(notice.id)) stored.set(notice.id, { notice, atMs });
          }
        },
      },
      ...{ time: clocks, logger: createLogger({ service: 'notifier', level: 'silent' }) },
      ...{ failpoints: noFailpoints, everyMs },
    });
  });
  const stepMs = 10;
  const giveUp = async (count: number, name: string) => {
    await deliveries.insertMany(
      Array.from({ length: count }, (_, i) =>
        eventDocument({ _id: `${name}-${i}`, status: 'dead', untold: true }, time.now()),
      ),
    );
  };
  const lookFor = async (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
      await Promise.all(running.map((one) => one.look()));
      await time.advance(stepMs);
    }
  };
  for (let i = 0; i < 12; i++) {
    await giveUp(5, `n-${i}`);
    await lookFor(100);
  }
  await lookFor(4 * everyMs);
  const notices = [...stored.values()];
  const counts = notices.map(({ notice }) => JSON.parse(notice.body).count);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(60);
  expect(notices.length).toBeGreaterThan(2);
  const gapsMs = notices.map(({ atMs }, i) => atMs - (notices[i - 1]?.atMs ?? 0));
  expect(Math.min(...gapsMs)).toBeGreaterThanOrEqual(everyMs);
  expect(await deliveries.countDocuments({ untold: true })).toBe(0);
});
