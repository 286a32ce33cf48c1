import { createSlots, type SlotLimits } from './slots.ts';

const never = new AbortController().signal;
/** Slots that record the order in which they are given. */
function noting(limits: Partial<SlotLimits> = {}) {
  const slots = createSlots({ atOnce: 2, waiting: 100, waitingOfOne: 50, ...limits });
  const given: string[] = [];
  const frees: (() => void)[] = [];
  const take = (owner: string, signal = never) =>
    slots.take(owner, signal).then((free) => {
      given.push(free ? owner : `${owner} refused`);
      if (free) frees.push(free);
    });
  /** Frees the slot that was given first. */
  const free = async () => {
    frees.shift()?.();
    await new Promise(setImmediate);
  };
  return { slots, given, take, free };
}

test('a single owner gets all slots but one, so that another owner never waits for it', async () => {
  const { given, take, slots } = noting({ atOnce: 3 });
  for (let i = 0; i < 5; i += 1) void take('a');
  await take('b');
  expect(given).toEqual(['a', 'a', 'b']);
  expect([slots.taken(), slots.waiting()]).toEqual([3, 3]);
});

test('a single slot goes to any owner', async () => {
  const { given, take, free } = noting({ atOnce: 1 });
  void take('a');
  void take('a');
  await free();
  await free();
  expect(given).toEqual(['a', 'a']);
});

test('waiting owners take turns, whatever their order of arrival and number of requests', async () => {
  const { given, take, free } = noting({ atOnce: 1 });
  for (let i = 0; i < 4; i += 1) void take('a');
  void take('b');
  void take('c');
  void take('b');
  for (let i = 0; i < 7; i += 1) await free();
  expect(given).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'a']);
});

test('requests beyond the waiting limits, of one owner and of all, are rejected at once', async () => {
  const { given, take, slots } = noting({ atOnce: 1, waiting: 3, waitingOfOne: 2 });
  for (let i = 0; i < 4; i += 1) void take('a');
  void take('b');
  await take('c');
  expect(given.toSorted()).toEqual(['a', 'a refused', 'c refused']);
  expect(slots.waiting()).toBe(3);
});

test('an aborted request leaves the queue, and a slot is freed only once', async () => {
  const { given, take, slots, free } = noting({ atOnce: 1 });
  const stop = new AbortController();
  void take('a');
  const left = expect(take('b', stop.signal)).rejects.toThrow('enough');
  stop.abort(new Error('enough'));
  await left;
  await expect(take('b', stop.signal)).rejects.toThrow('enough');
  expect(slots.waiting()).toBe(0);
  void take('c');
  await free();
  await free();
  expect(given).toEqual(['a', 'c']);
  const once = await slots.take('d', never);
  once?.();
  once?.();
  expect(slots.taken()).toBe(0);
});
