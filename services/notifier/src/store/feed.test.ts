import { openTestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { createFeedStore } from './feed.ts';

test('pages are found from a number on, in order, also far behind those that had their time', async () => {
  const bed = openTestBed('notifier', { onMongo: true });
  const feed = createFeedStore(bed.store);
  const page = (number: number) => ({
    ...{ number, tag: `t${number}`, before: `t${number - 1}`, ids: [`n-${number}`], resends: [] },
    ...{ keptUntilMs: Date.now() + 60_000, allUntilMs: 0, newestMs: 0, gap: false },
  });
  for (const number of [100, 101, 102, 103]) await feed.add('a-1', page(number));
  await feed.add('a-2', page(5));
  const numbers = async (from: number, to: number, limit: number) =>
    (await feed.pages('a-1', from, to, limit)).map(({ number }) => number);
  expect(await numbers(100, 103, 2)).toEqual([100, 101]);
  expect(await numbers(101, 102, 64)).toEqual([101, 102]);
  expect(await numbers(1, 103, 3)).toEqual([100, 101, 102]);
  expect(await numbers(1, 99, 3)).toEqual([]);
  expect(await numbers(104, 200, 3)).toEqual([]);
  // Some before what is there: fewer than the limit may come, never none.
  expect((await numbers(99, 103, 2)).at(0)).toBe(100);
  await bed.remove();
});

test('of what has no place, a progress that may be replaced is told, unless it has arrived or was taken over', async () => {
  const bed = openTestBed('notifier', { onMongo: true });
  const feed = createFeedStore(bed.store);
  const progress = {
    applicationId: 'a-1',
    orderKey: 'tx-1',
    replaceable: true,
    takenOver: false,
    unplaced: true,
  };
  await bed.store.collection<{ _id: string }>('deliveries').insertMany([
    { _id: 'tx-1-progress-2', ...progress, sequence: 2, status: 'replaced' },
    { _id: 'tx-1-progress-3', ...progress, sequence: 3, status: 'delivered' },
    { _id: 'tx-1-progress-4', ...progress, sequence: 4, status: 'pending', takenOver: true },
    {
      _id: 'tx-1-processed',
      applicationId: 'a-1',
      orderKey: 'tx-1',
      sequence: 5,
      status: 'delivered',
      page: 1,
    },
  ] as never);
  const { unplaced, placedUpTo } = await feed.ofTransactions('a-1', ['tx-1']);
  const told = unplaced.map(({ sequence, replaceable }) => [sequence, replaceable]);
  expect(told.sort()).toEqual([
    [2, true],
    [3, false],
    [4, false],
  ]);
  expect(placedUpTo.get('tx-1')).toBe(5);
  await bed.remove();
});
