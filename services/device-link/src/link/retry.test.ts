import { backoffMs } from './retry.ts';

it.each([
  [1, 200],
  [2, 400],
  [6, 6400],
  [7, 10_000],
  [1000, 10_000],
])('the pause after try %d is spread evenly from 0 to %d ms', (attempt, longestMs) => {
  const at = (share: number) => backoffMs(attempt, () => share);
  expect([at(0), at(0.5), at(1)]).toEqual([0, longestMs / 2, longestMs]);
});
