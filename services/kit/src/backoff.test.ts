import { backoffMs } from './backoff.ts';

const bounds = { firstMs: 1000, maxMs: 3_600_000 };

test('the longest wait doubles with each failure up to the maximum', () => {
  expect([0, 1, 2, 3, 12, 13, 100, 5000].map((failures) => backoffMs(failures, bounds, 1))).toEqual([
    1000, 1000, 2000, 4000, 2_048_000, 3_600_000, 3_600_000, 3_600_000,
  ]);
});

test('the jitter is full: from no wait at all to the longest', () => {
  expect([0, 0.25, 0.5].map((random) => backoffMs(3, bounds, random))).toEqual([0, 1000, 2000]);
});
