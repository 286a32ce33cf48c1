import { expect, it } from '@jest/globals';
import { createFakeTime } from './fake-time.ts';

it('runs timers in their order when time passes, and no timer before', async () => {
  const time = createFakeTime(1000);
  const ran: string[] = [];
  time.setTimeout(() => ran.push(`second at ${time.now()}`), 200);
  time.setTimeout(() => ran.push(`first at ${time.now()}`), 100);
  const every = time.setInterval(() => ran.push(`every at ${time.now()}`), 150);
  await time.advance(99);
  expect(ran).toEqual([]);
  await time.advance(201);
  expect(ran).toEqual(['first at 1100', 'every at 1150', 'second at 1200', 'every at 1300']);
  time.clearTimer(every);
  await time.advance(1000);
  expect(ran).toHaveLength(4);
  expect(time.timers).toBe(0);
});

it('work that follows a sleep runs at the time of its end', async () => {
  const time = createFakeTime(0);
  const ended: number[] = [];
  const work = (async () => {
    for (let i = 0; i < 3; i++) {
      await time.sleep(100);
      ended.push(time.now());
    }
  })();
  await time.advance(1000);
  await work;
  expect(ended).toEqual([100, 200, 300]);
});

it('an aborted sleep rejects and leaves no timer', async () => {
  const time = createFakeTime();
  const abort = new AbortController();
  const slept = time.sleep(100, { signal: abort.signal });
  abort.abort();
  await expect(slept).rejects.toMatchObject({ name: 'AbortError' });
  await expect(time.sleep(1, { signal: abort.signal })).rejects.toMatchObject({ name: 'AbortError' });
  expect(time.timers).toBe(0);
});

it('a step of the wall clock moves neither the monotonic clock nor a timer', async () => {
  const time = createFakeTime(1_000_000);
  let rings = 0;
  time.setTimeout(() => rings++, 100);
  await time.advance(50);
  time.stepWallClock(3_600_000);
  expect([time.now(), time.monotonicNow()]).toEqual([4_600_050, 50]);
  await time.advance(49);
  expect(rings).toBe(0);
  await time.advance(1);
  expect(rings).toBe(1);
  time.stepWallClock(-7_200_000);
  await time.advance(10);
  expect([time.now(), time.monotonicNow()]).toEqual([-2_599_890, 110]);
});
