import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { expect, it } from '@jest/globals';
import { createOpenLimit } from './open-limit.ts';

/** A limit over a number of open operations that the test changes. */
function world() {
  const state = { open: 0, counts: 0, counting: Promise.resolve() };
  const time = createFakeTime();
  const limit = createOpenLimit(async (_, most) => {
    state.counts += 1;
    await state.counting;
    return Math.min(state.open, most);
  }, time);
  /** Creates a transaction; false: rejected. */
  const create = async (most: number): Promise<boolean> => {
    const end = await limit.admit('key', most);
    if (!end) return false;
    state.open += 1;
    end(true);
    return true;
  };
  return { state, time, limit, create };
}

it('a limit of 20 never rejects creates while at most one transaction is open', async () => {
  const { state, create } = world();
  for (let i = 0; i < 60; i++) {
    expect(await create(20)).toBe(true);
    state.open -= 1;
  }
});

it('concurrent creates fill a limit exactly, and each end admits one more create', async () => {
  const { state, create } = world();
  const results = await Promise.all(Array.from({ length: 200 }, () => create(20)));
  expect([state.open, results.filter(Boolean).length]).toEqual([20, 20]);
  state.open -= 1;
  expect([await create(20), await create(20)]).toEqual([true, false]);
});

it('a count happens once per tenth of the limit', async () => {
  const { state, create } = world();
  for (let i = 0; i < 500; i++) await create(1000);
  expect(state.counts).toBe(4);
});

it('open operations of other processes are found by the next count', async () => {
  const { state, create } = world();
  state.open = 995;
  const results = [];
  for (let i = 0; i < 300; i++) results.push(await create(1000));
  // A tenth was admitted before the first count.
  expect(results.filter(Boolean)).toHaveLength(100);
});

it('a create that failed does not count', async () => {
  const { limit, create } = world();
  for (let i = 0; i < 50; i++) (await limit.admit('key', 10))?.(false);
  expect(await create(10)).toBe(true);
});

it('a count waits until no create is in progress', async () => {
  const { state, limit } = world();
  const first = await limit.admit('key', 10);
  let second: unknown = 'waiting';
  const admitted = limit.admit('key', 10).then((end) => {
    second = end;
  });
  await Promise.resolve();
  expect([second, state.counts]).toEqual(['waiting', 0]);
  first?.(true);
  await admitted;
  expect([typeof second, state.counts]).toEqual(['function', 1]);
});

it('after a large limit was reached, there is no further count for a second', async () => {
  const { state, time, create } = world();
  state.open = 5000;
  for (let i = 0; i < 500; i++) await create(5000);
  expect(await create(5000)).toBe(false);
  const { counts } = state;
  state.open = 10;
  await time.advance(999);
  expect([await create(5000), state.counts]).toEqual([false, counts]);
  await time.advance(1);
  expect([await create(5000), state.counts]).toEqual([true, counts + 1]);
});

it('a failed count fails the creates that wait for it, and the next create counts again', async () => {
  const { state, create } = world();
  await create(10);
  state.counting = Promise.reject(new Error('away'));
  await expect(create(10)).rejects.toThrow('away');
  state.counting = Promise.resolve();
  expect(await create(10)).toBe(true);
});
