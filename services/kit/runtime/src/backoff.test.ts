import { backoffMs } from './backoff.ts';

const bounds = { firstMs: 1000, maxMs: 3_600_000 };

test('the maximum wait doubles with each failure up to a limit', () => {
  expect([0, 1, 2, 3, 12, 13, 100, 5000].map((failures) => backoffMs(failures, bounds, 1))).toEqual([
    1000, 1000, 2000, 4000, 2_048_000, 3_600_000, 3_600_000, 3_600_000,
  ]);
});

test('full jitter: the wait is between zero and the maximum wait', () => {
  expect([0, 0.25, 0.5].map((random) => backoffMs(3, bounds, random))).toEqual([0, 1000, 2000]);
});
