import { queryObjects } from 'node:v8';
import { createBatcher } from '@headset-cloud/runtime/batching/batcher.ts';
import { coalesce } from '@headset-cloud/runtime/batching/coalesce.ts';
import { batchPerTurn } from '@headset-cloud/runtime/batching/per-turn.ts';
import { timeLeft, untilDeadline, withDeadline } from '@headset-cloud/runtime/deadline.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { bounded } from './bounded.ts';
import type { StoreCollection } from './types.ts';

const past = () => waitFor('the deadline', () => (timeLeft() ?? 1) <= 0, { intervalMs: 1 });
const lateError = { code: 'deadline_exceeded' };

test('the shorter of two deadlines counts', async () => {
  await withDeadline(1000, () =>
    withDeadline(60_000, async () => {
      expect(timeLeft()).toBeLessThanOrEqual(1000);
    }),
  );
  expect(timeLeft()).toBeUndefined();
});

test('a batch skips items of callers that gave up, and has the longest deadline of its items', async () => {
  const runs: (readonly string[])[] = [];
  const left: (number | undefined)[] = [];
  const first = Promise.withResolvers<void>();
  const call = coalesce<string, string>({
    maxRunning: 1,
    maxItems: 10,
    run: async (items) => {
      runs.push(items);
      left.push(timeLeft());
      if (items[0] === 'first') await first.promise;
      return items.map((value) => ({ value }));
    },
  });
  const busy = call('first');
  const hurried = withDeadline(20, async () => {
    const answer = call('hurried').catch((error: unknown) => error);
    await past();
    first.resolve();
    return answer;
  });
  const [patient, longer] = [
    withDeadline(60_000, () => call('patient')),
    withDeadline(90_000, () => call('longer')),
  ];
  expect(await hurried).toMatchObject(lateError);
  expect(await Promise.all([busy, patient, longer])).toEqual(['first', 'patient', 'longer']);
  expect(runs).toEqual([['first'], ['patient', 'longer']]);
  expect(left[0]).toBeUndefined();
  expect(left[1]).toBeGreaterThan(60_000);
});

test('a batch of one event loop iteration skips items of callers that gave up', async () => {
  const runs: (readonly string[])[] = [];
  const call = batchPerTurn<string, string>({
    run: async (items) => {
      runs.push(items);
      return items.map((value) => ({ value }));
    },
  });
  const hurried = withDeadline(1, async () => {
    const answer = call('hurried').catch((error: unknown) => error);
    // The iteration takes longer than the deadline.
    while ((timeLeft() ?? 0) > 0);
    return answer;
  });
  expect(await Promise.all([hurried, call('patient')])).toEqual([
    expect.objectContaining(lateError),
    'patient',
  ]);
  expect(runs).toEqual([['patient']]);
});

test('batched work does not inherit the deadline of the call that started it', async () => {
  let left: number | undefined = 0;
  const batcher = createBatcher<number>({
    maxItems: 1,
    maxWaitMs: 1,
    flush: async () => {
      left = timeLeft();
    },
    onError: () => {},
  });
  await withDeadline(50, async () => {
    batcher.add(1);
    await batcher.drain();
  });
  expect(left).toBeUndefined();
});

test('completed calls within a deadline keep no memory until its end', async () => {
  await withDeadline(3_600_000, async () => {
    const answers = (many: number) => Array.from({ length: many }, () => untilDeadline(Promise.resolve()));
    await Promise.all(answers(1));
    const promises = () => Number(queryObjects(Promise, { format: 'count' }));
    const before = promises();
    await Promise.all(answers(10_000));
    expect(promises() - before).toBeLessThan(100);
  });
});

describe("a database's operation", () => {
  const calls: unknown[] = [];
  let answer: () => Promise<unknown>;
  const things = bounded({
    collectionName: 'things',
    findOne: (_: unknown, options: unknown) => {
      calls.push(options);
      return answer();
    },
    find: (_: unknown, options: unknown) => {
      calls.push(options);
      const rows = () => answer() as Promise<unknown[]>;
      return { toArray: rows, close: async () => {}, [Symbol.asyncIterator]: () => ({ next: rows }) };
    },
    insertOne: () => {
      calls.push('insert');
      return answer();
    },
  } as unknown as StoreCollection<{ _id: number }>);
  beforeEach(() => {
    calls.length = 0;
    answer = async () => null;
  });

  test('sends the server a time limit when its caller has a deadline, and none otherwise', async () => {
    await things.findOne({ _id: 1 });
    await withDeadline(5000, () => things.findOne({ _id: 1 }, { projection: { _id: 1 } }));
    expect(calls).toEqual([{}, { projection: { _id: 1 }, maxTimeMS: expect.any(Number) }]);
    expect((calls[1] as { maxTimeMS: number }).maxTimeMS).toBeLessThanOrEqual(5000);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['a read', () => things.findOne({ _id: 1 })],
    ['a write', () => things.insertOne({ _id: 1 })],
    ['a list', () => things.find({}).toArray()],
    [
      'a walk',
      async () => {
        for await (const _ of things.find({}));
      },
    ],
  ])(
    '%s without an answer is abandoned at the deadline, and none starts after the deadline',
    async (_, operate) => {
      answer = () => new Promise(() => {});
      await withDeadline(30, async () => {
        await expect(operate()).rejects.toMatchObject(lateError);
        await past();
        await expect(operate()).rejects.toMatchObject(lateError);
      });
      expect(calls).toHaveLength(1);
    },
  );
});
