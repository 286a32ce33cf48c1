import { backoffMs, retryAfterMs } from './backoff.ts';

const bounds = { firstMs: 1000, maxMs: 3_600_000 };

test('the upper bound of a pause doubles with each failure up to the maximum', () => {
  const almostOne = 1 - Number.EPSILON;
  expect([1, 2, 3, 12, 13, 100, 5000].map((n) => backoffMs(n, bounds, almostOne))).toEqual([
    1000, 2000, 4000, 2_048_000, 3_600_000, 3_600_000, 3_600_000,
  ]);
});

test('the jitter is full: from no pause at all to the upper bound', () => {
  expect([0, 0.25, 0.5].map((random) => backoffMs(3, bounds, random))).toEqual([0, 1000, 2000]);
});

// rule A24
test.each([
  ['120', 120_000],
  [' 7 ', 7000],
  ['0', 0],
  ['999999', 3_600_000],
  ['Tue, 14 Nov 2023 22:13:30 GMT', 10_000],
  ['Tue, 14 Nov 2023 22:00:00 GMT', 0],
  ['Fri, 31 Dec 2100 23:59:59 GMT', 3_600_000],
  ['soon', undefined],
  ['-5x', undefined],
  ['', undefined],
  [undefined, undefined],
])('Retry-After %j is %j ms', (header, expected) => {
  expect(retryAfterMs(header, 1_700_000_000_000, 3_600_000)).toBe(expected);
});
