import { withDeadline } from '../deadline.ts';
import type { DomainError } from '../errors.ts';
import { createFakeTime } from '../testing/fake-time.ts';
import { waitFor } from '../testing/wait.ts';
import { coalesce } from './coalesce.ts';

/** A run that ends when the test releases it. */
function controlled() {
  const batches: { items: readonly number[]; end(): void }[] = [];
  const run = (items: readonly number[]) =>
    new Promise<{ value: number }[]>((resolve) => {
      batches.push({ items, end: () => resolve(items.map((value) => ({ value: value * 10 }))) });
    });
  return { batches, run };
}

it('runs an item at once if no batch is running, else collects items', async () => {
  const { batches, run } = controlled();
  const call = coalesce({ maxRunning: 2, maxItems: 100, run });
  const answers = Promise.all([1, 2, 3, 4, 5].map(call));
  expect(batches.map((b) => b.items)).toEqual([[1], [2]]);
  batches[0]?.end();
  await waitFor('the next batch', () => batches.length === 3);
  expect(batches[2]?.items).toEqual([3, 4, 5]);
  for (const b of batches) b.end();
  expect(await answers).toEqual([10, 20, 30, 40, 50]);
});

it('gives each item its own outcome, and a failed batch to all of its items', async () => {
  let fail = false;
  const call = coalesce<number, number>({
    maxRunning: 1,
    maxItems: 2,
    run: async (items) => {
      if (fail) throw new Error('away');
      return items.map((i) => (i % 2 ? { value: i } : { error: new Error(`no ${i}`) }));
    },
  });
  const outcomes = await Promise.allSettled([1, 2, 3].map(call));
  expect(outcomes.map((o) => o.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  fail = true;
  expect((await Promise.allSettled([1, 2, 3].map(call))).map((o) => o.status)).toEqual([
    'rejected',
    'rejected',
    'rejected',
  ]);
});

describe('batches over the network', () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it('items of one event loop iteration form one batch, and later items wait for a batch that has just started', async () => {
    const { batches, run } = controlled();
    const call = coalesce({
      maxRunning: 2,
      maxItems: 100,
      concurrentAfterMs: 20,
      run,
      time: createFakeTime(),
    });
    const first = Promise.all([1, 2, 3].map(call));
    await turn();
    const second = Promise.all([4, 5].map(call));
    await turn();
    await turn();
    expect(batches.map((b) => b.items)).toEqual([[1, 2, 3]]);
    batches[0]?.end();
    await waitFor('the next batch', () => batches.length === 2);
    expect(batches[1]?.items).toEqual([4, 5]);
    batches[1]?.end();
    expect([await first, await second]).toEqual([
      [10, 20, 30],
      [40, 50],
    ]);
  });

  it('a hanging batch delays one further batch for a short time only', async () => {
    const { batches, run } = controlled();
    const time = createFakeTime();
    const call = coalesce({ maxRunning: 2, maxItems: 100, concurrentAfterMs: 20, run, time });
    const hangs = call(1);
    await turn();
    const second = call(2);
    await time.advance(19);
    expect(batches).toHaveLength(1);
    await time.advance(1);
    expect(batches).toHaveLength(2);
    batches[1]?.end();
    expect(await second).toBe(20);
    const third = call(3);
    await time.advance(20);
    expect(batches).toHaveLength(3);
    batches[2]?.end();
    batches[0]?.end();
    expect([await hangs, await third]).toEqual([10, 30]);
  });
});

describe('while the database hangs', () => {
  const many = 20_000;

  it('the queue has a limit; further items are rejected with a retry time, and all queued items get a result', async () => {
    const { batches, run } = controlled();
    const call = coalesce({ maxRunning: 1, maxItems: many, run });
    const waiting = Array.from({ length: many + 1 }, (_, i) => call(i));
    await expect(call(-1)).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: 1000 });
    batches[0]?.end();
    await waitFor('the next batch', () => batches.length === 2);
    batches[1]?.end();
    expect(await Promise.all(waiting)).toHaveLength(many + 1);
    expect(batches).toHaveLength(2);
  });

  it('items of callers that gave up are removed from the queue', async () => {
    const { batches, run } = controlled();
    const time = createFakeTime();
    const call = coalesce({ maxRunning: 1, maxItems: many, run, time });
    const running = call(0);
    const given = Array.from({ length: many }, (_, i) =>
      withDeadline(1, () => call(i), time).catch((error: DomainError) => error.code),
    );
    await time.advance(1);
    const next = call(7);
    expect(new Set(await Promise.all(given))).toEqual(new Set(['deadline_exceeded']));
    batches[0]?.end();
    await waitFor('the next batch', () => batches.length === 2);
    batches[1]?.end();
    expect(await Promise.all([running, next])).toEqual([0, 70]);
  });
});
