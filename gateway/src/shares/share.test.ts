import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { Share } from './share.ts';

const rate = { perSecond: 10, burst: 20 };

test('a burst is admitted, then nothing until the rate refills it', async () => {
  const time = createFakeTime();
  const share = new Share('c', rate, time);
  const take = (calls: number) => Array.from({ length: calls }, () => share.take()).filter(Boolean).length;
  expect(take(30)).toBe(20);
  expect(share.bucket.waitMs).toBe(100);
  await time.advance(90);
  expect([take(1), share.bucket.waitMs]).toEqual([0, 10]);
  await time.advance(10);
  expect([take(2), share.bucket.waitMs]).toEqual([1, 100]);
  await time.advance(60_000);
  expect(take(30)).toBe(20);
});

test('calls that other gateways admitted are subtracted from the rate here, down to a minimum', () => {
  const share = new Share('c', rate, createFakeTime());
  share.addUsage('other', { taken: 30, underWay: 0, asked: 30 }, 1000);
  expect(share.take()).toBe(false);
  // The bucket is 10 calls below zero, and the next call needs one more, at 10 a second.
  expect(share.bucket.waitMs).toBe(1100);
  share.addUsage('other', { taken: 1_000_000, underWay: 0, asked: 30 }, 1000);
  // The bucket is at most four bursts below zero.
  expect(share.bucket.waitMs).toBe(8100);
});

test('a changed contract applies at once, without a new burst', () => {
  const share = new Share('c', rate, createFakeTime());
  while (share.take()) {
    // Uses up the burst.
  }
  share.bucket.change({ perSecond: 1000, burst: 2000 });
  expect(share.bucket.left).toBe(0);
  expect(share.bucket.waitMs).toBe(1);
});

test('running calls at other gateways count as long as they are reported', () => {
  const share = new Share('c', rate);
  share.countArrival();
  share.underWay = 4;
  expect(share.mayStart(10, 0)).toBe(true);
  share.addUsage('other', { taken: 0, underWay: 6, asked: 100 }, 1000);
  expect(share.mayStart(10, 500)).toBe(false);
  expect(share.mayStart(10, 1500)).toBe(true);
});

test('a gateway may always use its proportional part of the limit', () => {
  const share = new Share('c', rate);
  for (let i = 0; i < 100; i++) share.countArrival();
  share.addUsage('other', { taken: 0, underWay: 10, asked: 100 }, 1000);
  share.underWay = 4;
  expect(share.mayStart(10, 0)).toBe(true);
  share.underWay = 5;
  expect(share.mayStart(10, 0)).toBe(false);
});

test('low usage is not reported each time, and the end of calls is reported', () => {
  const share = new Share('c', { perSecond: 100, burst: 200 }, createFakeTime());
  share.take();
  expect(share.report(100)).toBeUndefined();
  for (let i = 0; i < 20; i++) share.take();
  expect(share.report(100)).toMatchObject({ taken: 21, underWay: 0 });
  share.underWay = 50;
  expect(share.report(100)).toMatchObject({ taken: 0, underWay: 50 });
  share.underWay = 0;
  expect(share.report(100)).toMatchObject({ underWay: 0 });
  expect(share.report(100)).toBeUndefined();
});
