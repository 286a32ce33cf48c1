import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { expect, it } from '@jest/globals';
import { connectAll, runHeadsets } from './cli.ts';

it.each([
  [1, 1000, [1, 1, 2]],
  [5, 200, [1, 1, 2]],
  [500, 50, [25, 25, 50]],
])('%i connections per second: a group, then a pause of %i ms', async (rate, pauseMs, expected) => {
  const time = createFakeTime();
  let connected = 0;
  const headsets = Array.from({ length: 60 }, () => ({
    connect() {
      connected += 1;
    },
  }));
  void connectAll(headsets, rate, time);
  const counts = [connected];
  await time.advance(pauseMs - 1);
  counts.push(connected);
  await time.advance(1);
  counts.push(connected);
  expect(counts).toEqual(expected);
});

it.each(['0', '-1', 'many'])('a rate of %s is rejected', async (rate) => {
  const args = ['--server', 'localhost:1', '--keys', '/nonexistent', '--durability', 'none'];
  await expect(runHeadsets([...args, `--connect-rate=${rate}`])).rejects.toThrow(
    '--connect-rate is not a positive number',
  );
});
