/** What a fourth attempt to break the promises of ADR 0053 found: looks, readers and instances beside each other. */
import type { TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { FeedStore } from '../ports.ts';
import { sentAgain } from '../store/deliveries.ts';
import type { DeliveryDocument } from '../store/documents.ts';
import { createFeedStore, type FeedPageDocument } from '../store/feed.ts';
import { createForgetStore } from '../store/forget.ts';
import { feedPagesCollection } from '../store/indexes.ts';
import { dayMs, feedTools, keptMs, openFeedBed, openMs, stoppedBeforeRemoval } from '../testing/feed-bed.ts';
import { Feed } from './feed.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const deadMs = 90 * dayMs;
const beganAtMs = Date.UTC(2026, 0, 1);

let bed: TestBed;
let deliveries: StoreCollection<DeliveryDocument>;
/** By the database's clock. */
let nowMs: number;
beforeEach(async () => {
  nowMs = beganAtMs;
  ({ bed, deliveries } = await openFeedBed());
});
afterEach(() => bed.remove());

const { feedOn, store, ended, retention, idsOf, read, readAll } = feedTools({
  ...{ bed: () => bed, nowMs: () => nowMs, spentMs: () => 0, longestMs: deadMs },
});
const end = (ids: readonly string[], status: 'delivered' | 'dead') =>
  deliveries.updateMany(
    { _id: { $in: [...ids] } },
    { $set: { status, expireAt: new Date(nowMs + (status === 'dead' ? deadMs : keptMs)) } },
  );
/** Of an instance whose clock is so far from the database's. */
const feedWith = (offMs: number, of: FeedStore = createFeedStore(bed.store)) =>
  new Feed({
    ...{ store: of, clock: { now: () => nowMs + offMs, monotonicNow: () => 0 } },
    ...{ keptMs, longestMs: deadMs, openMs },
  });
const toldBy = (feed: Feed, after: string) =>
  readAll(feed, after).then(
    ({ ids }) => ids,
    ({ code }: { code?: string }) => code,
  );

describe('a look that has not seen all', () => {
  test('since another reader makes the next page while it looks says nothing of what stands there', async () => {
    const { cursor } = await readAll(feedOn());
    await store(ended('a'));
    // The integrator is away for 20 days; then two of its workers go on with the cursor at once.
    nowMs += 20 * dayMs;
    const real = createFeedStore(bed.store);
    // Its look for the next page, where that is asked for first.
    let present: Promise<unknown> | undefined;
    let isFirst = true;
    const slow = feedOn({
      ...real,
      page(...args) {
        const found = real.page(...args);
        present ??= found;
        return found;
      },
      // Takes longer than the other reader's page.
      async unplaced(...args) {
        await present;
        if (isFirst) {
          isFirst = false;
          expect((await readAll(feedOn(), cursor)).ids).toEqual(['a']);
        }
        return real.unplaced(...args);
      },
    });
    const answer = await read(slow, cursor);
    const had = idsOf(answer);
    // It stops here, and goes on 11 days later.
    nowMs += 11 * dayMs;
    await retention();
    expect(await deliveries.countDocuments({})).toBe(0);
    if (!had.includes('a')) expect(await toldBy(feedOn(), answer.cursor)).toBe('invalid_argument');
  });
});

describe('a cursor that is kept while nothing comes, and somebody polls,', () => {
  async function sixtyDays() {
    await store({ _id: 'first' });
    const { cursor } = await readAll(feedOn());
    // The reader stores its cursor only when there was something.
    for (let day = 0; day < 60; day++) {
      nowMs += dayMs;
      expect((await readAll(feedOn(), cursor)).ids).toEqual([]);
    }
    await store({ _id: 'new' });
    return cursor;
  }

  test('is valid when something has come, and another reader was faster', async () => {
    const cursor = await sixtyDays();
    expect((await readAll(feedOn())).ids).toEqual(['first', 'new']);
    expect(await toldBy(feedOn(), cursor)).toEqual(['new']);
  });

  test('is valid when something has come, and the answer with it was lost', async () => {
    const cursor = await sixtyDays();
    await read(feedOn(), cursor);
    // Once more.
    expect(await toldBy(feedOn(), cursor)).toEqual(['new']);
  });

  test('is valid when something has come, and its reader died before it had the answer', async () => {
    const cursor = await sixtyDays();
    const dying = feedOn({
      ...createFeedStore(bed.store),
      deliveries: () => Promise.reject(new Error('dead')),
    });
    await expect(read(dying, cursor)).rejects.toThrow('dead');
    expect(await toldBy(feedOn(), cursor)).toEqual(['new']);
  });
});

describe('a number is given once', () => {
  /**
   * A reader is frozen for less than a day before it stores its page, whose one event has its time meanwhile. While it
   * goes on, another request is between its look at the head and its look at what has no place.
   */
  async function pageAfterRemoval() {
    await store(ended('old', nowMs - keptMs + hourMs));
    const real = createFeedStore(bed.store);
    const thaw = Promise.withResolvers<void>();
    const isFrozen = Promise.withResolvers<void>();
    const frozen = feedWith(-hourMs, {
      ...real,
      async add(...args) {
        isFrozen.resolve();
        await thaw.promise;
        return real.add(...args);
      },
    });
    const reads = read(frozen);
    await isFrozen.promise;
    nowMs += 23 * hourMs + 30 * minuteMs;
    await retention();
    let steady = '';
    const meanwhile = async () => {
      thaw.resolve();
      await reads;
      // It walks over the empty page, and removes it.
      ({ cursor: steady } = await readAll(feedOn()));
      await store({ _id: 'new' });
    };
    let once: Promise<void> | undefined;
    const slow = feedOn({
      ...real,
      async page(...args) {
        once ??= meanwhile();
        await once;
        return real.page(...args);
      },
      async unplaced(...args) {
        once ??= meanwhile();
        await once;
        return real.unplaced(...args);
      },
    });
    await read(slow);
    return steady;
  }

  test('though its page was empty and is removed: what comes then is behind the cursors', async () => {
    const steady = await pageAfterRemoval();
    expect((await readAll(feedOn(), steady)).ids).toEqual(['new']);
  });

  test('though its page was empty and is removed: who begins, and polls, is not refused again and again', async () => {
    await pageAfterRemoval();
    let [cursor, refusals]: [string | undefined, number] = [undefined, 0];
    for (let polls = 0; polls < 10; polls++) {
      nowMs += minuteMs;
      try {
        ({ cursor } = await read(feedOn(), cursor));
      } catch {
        refusals++;
        cursor = undefined;
      }
    }
    expect(refusals).toBeLessThanOrEqual(1);
  });
});

test('three clocks, each less than two hours off: what a valid cursor is to see is there', async () => {
  const offMs = 110 * minuteMs;
  // Who answers the cursor is ahead.
  const { cursor } = await readAll(feedWith(offMs));
  nowMs += minuteMs;
  // Who stores the end is behind.
  await store(ended('a', nowMs - offMs));
  nowMs = beganAtMs + keptMs - hourMs;
  await retention();
  expect(await deliveries.countDocuments({})).toBe(0);
  // So is who judges the cursor.
  expect(await toldBy(feedWith(-offMs), cursor)).toBe('invalid_argument');
});

test('a device that is forgotten while a reader gives its place to what was sent again before is on no page', async () => {
  const deviceId = '350000000000001';
  const id = `device-${deviceId}-16`;
  await store(ended(id), ended('n'));
  const { cursor } = await readAll(feedOn());
  // A recovery sends it, and it arrives.
  await deliveries.updateMany({ _id: id }, sentAgain(nowMs));
  await end([id], 'delivered');
  const between = stoppedBeforeRemoval(bed.store, async () => {
    // It is off the pages that it was on. Somebody polls.
    await readAll(feedOn(), cursor);
  });
  const forget = createForgetStore(between);
  for (let run = 0; run < 5; run++) if (!(await forget.reported(deviceId, false)).more) break;
  expect(await deliveries.countDocuments({ _id: id })).toBe(0);
  await readAll(feedOn());
  const pages = await bed.store.collection<FeedPageDocument>(feedPagesCollection).find({}).toArray();
  expect(JSON.stringify(pages)).not.toContain(deviceId);
});

describe('what is kept is found by who begins, though its page was made long before its end:', () => {
  test('its instance was frozen for a day before it gave it up, and its clock is two hours ahead', async () => {
    await store({ _id: 'a' });
    await readAll(feedOn());
    nowMs += openMs + dayMs + 2 * hourMs;
    await end(['a'], 'dead');
    nowMs += deadMs - hourMs;
    await retention();
    expect(await deliveries.countDocuments({})).toBe(1);
    expect((await readAll(feedOn())).ids).toEqual(['a']);
  });
});
