import { timerMs } from './clock.ts';

test('a timer is at most as long as Node.js supports; a longer one would fire after 1 ms', () => {
  expect([0, 5, 2 ** 31 - 1, 2 ** 31, Number.POSITIVE_INFINITY].map(timerMs)).toEqual([
    0, 5, 2_147_483_647, 2_147_483_647, 2_147_483_647,
  ]);
});
