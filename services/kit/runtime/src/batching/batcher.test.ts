import { expect, it } from '@jest/globals';
import { createBatcher } from './batcher.ts';

it('the queue has a limit while a flush hangs; further items fail at once through onError, and the queue is flushed later', async () => {
  const most = 20_000;
  const gate = Promise.withResolvers<void>();
  const flushed: number[] = [];
  const dropped: number[] = [];
  const errors: unknown[] = [];
  const batcher = createBatcher<number>({
    maxItems: 500,
    maxWaitMs: 1,
    async flush(items) {
      await gate.promise;
      flushed.push(...items);
    },
    onError(error, items) {
      errors.push(error);
      dropped.push(...items);
    },
  });
  for (let i = 0; i < 500 + most + 3; i += 1) batcher.add(i);
  expect(dropped).toEqual([500, 501, 502].map((i) => i + most));
  expect(errors[0]).toMatchObject({ code: 'unavailable' });
  gate.resolve();
  await batcher.drain();
  expect(flushed).toHaveLength(500 + most);
});
