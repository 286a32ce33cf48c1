import { openTestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { createFeedStore } from './feed.ts';

test('pages are found from a number on, in order, also far behind those that had their time', async () => {
  const bed = openTestBed('notifier', { onMongo: true });
  const feed = createFeedStore(bed.store);
  const page = (number: number) => ({
    ...{ number, tag: `t${number}`, before: `t${number - 1}`, ids: [`n-${number}`], resends: [] },
    ...{ sinceBeforeMs: 0, sinceMs: 0, newestMs: 0, madeAtMs: 0, removedAtMs: Date.now() + 60_000 },
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

test('of what has no place, a progress that was replaced or may be is told, unless it was sent or is to be sent', async () => {
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
    { _id: 'tx-1-progress-6', ...progress, sequence: 6, status: 'pending' },
    { _id: 'tx-1-progress-7', ...progress, sequence: 7, status: 'pending', resends: 1 },
    { _id: 'tx-1-progress-8', ...progress, sequence: 8, status: 'dead' },
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
  const told = unplaced.map(({ sequence, progress }) => [sequence, progress]);
  expect(told.sort()).toEqual([
    [2, 'replaced'],
    [3, undefined],
    [4, undefined],
    [6, 'open'],
    [7, undefined],
    [8, undefined],
  ]);
  expect(placedUpTo.get('tx-1')).toBe(5);
  await bed.remove();
});
