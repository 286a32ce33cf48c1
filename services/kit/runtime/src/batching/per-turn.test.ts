import { batchPerTurn } from './per-turn.ts';

type Ended = { items: readonly number[]; end(): void };

/** Runs that the test ends; odd items fail. */
function controlled(weight?: { of: (item: number) => number; most: number }) {
  const batches: Ended[] = [];
  const call = batchPerTurn<number, number>({
    ...(weight && { weight }),
    run: (items) =>
      new Promise((resolve) => {
        const end = () =>
          resolve(items.map((i) => (i % 2 ? { error: new Error(`no ${i}`) } : { value: i * 10 })));
        batches.push({ items, end });
      }),
  });
  return { batches, call };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const settled = (calls: Promise<number>[]) =>
  Promise.allSettled(calls).then((all) => all.map((o) => (o.status === 'fulfilled' ? o.value : 'failed')));

it('sends the items of one event loop iteration together, and returns an outcome for each', async () => {
  const { batches, call } = controlled();
  const calls = [1, 2, 4, 2].map(call);
  await turn();
  expect(batches.map((b) => b.items)).toEqual([[1, 2, 4, 2]]);
  batches[0]?.end();
  expect(await settled(calls)).toEqual(['failed', 20, 40, 20]);
});

it('does not wait for a batch that never ends', async () => {
  const { batches, call } = controlled();
  void call(2);
  await turn();
  const later = call(4);
  await turn();
  batches[1]?.end();
  expect(await later).toBe(40);
});

it('splits by weight and by number, and sends a single item whatever its weight', async () => {
  const { batches, call } = controlled({ of: (item) => item, most: 10 });
  const calls = [4, 6, 2, 50, 8, 2, 2].map(call);
  await turn();
  expect(batches.map((b) => b.items)).toEqual([[4, 6], [2], [50], [8, 2], [2]]);
  for (const b of batches) b.end();
  expect(await settled(calls)).toEqual([40, 60, 20, 500, 80, 20, 20]);
  const many = controlled();
  for (let i = 0; i < 450; i++) void many.call(2);
  await turn();
  expect(many.batches.map((b) => b.items.length)).toEqual([200, 200, 50]);
});

it('fails all items of a batch that fails or returns too few outcomes', async () => {
  const failing = batchPerTurn<number, number>({ run: async () => Promise.reject(new Error('away')) });
  expect(await settled([1, 2].map(failing))).toEqual(['failed', 'failed']);
  const short = batchPerTurn<number, number>({ run: async () => [{ value: 1 }] });
  expect(await settled([1, 2].map(short))).toEqual([1, 'failed']);
});
