import { retryAfterMs } from './retry-after.ts';

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
