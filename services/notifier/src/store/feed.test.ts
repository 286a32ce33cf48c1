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
