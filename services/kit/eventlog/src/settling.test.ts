import { jest } from '@jest/globals';
import { handleAndStore, Settling } from './settling.ts';
import type { Unsettled } from './types.ts';

/** Writes that resolve when the test resolves them. */
function writes() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsettled = { durable: promise, hurry: jest.fn(), resolve };
  return unsettled satisfies Unsettled & { resolve(): void };
}

let marks: number[];
let settling: Settling<number>;
beforeEach(() => {
  marks = [];
  settling = new Settling((mark) => marks.push(mark));
});
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('an event that is already durable is reported at once', () => {
  settling.add(1, 1, []);
  settling.add(2, 1, []);
  expect(marks).toEqual([1, 2]);
  expect(settling.idle).toBe(true);
});

test('an event that is durable first waits for earlier events', async () => {
  const first = writes();
  const second = writes();
  settling.add(1, 1, [first]);
  settling.add(2, 1, [second]);
  settling.add(3, 1, []);
  second.resolve();
  await turn();
  expect(marks).toEqual([]);
  first.resolve();
  await turn();
  expect(marks).toEqual([3]);
});

test('a batch waits for all its writes', async () => {
  const [first, second] = [writes(), writes()];
  settling.add(1, 2, [first, second]);
  first.resolve();
  await turn();
  expect(marks).toEqual([]);
  second.resolve();
  await turn();
  expect(marks).toEqual([1]);
});

test('it is full at 500 events, and accepts more after some are durable', async () => {
  const first = writes();
  settling.add(300, 300, [first]);
  expect(settling.full).toBe(false);
  settling.add(500, 200, [writes()]);
  expect(settling.full).toBe(true);
  const progress = settling.progress(60_000);
  first.resolve();
  await progress;
  expect(settling.full).toBe(false);
  expect(marks).toEqual([300]);
});

test('finish requests the open writes, and ends without them at its time limit', async () => {
  const [done, open] = [writes(), writes()];
  settling.add(1, 1, [done]);
  settling.add(2, 1, [open]);
  done.resolve();
  await turn();
  await settling.finish(20);
  expect(done.hurry).not.toHaveBeenCalled();
  expect(open.hurry).toHaveBeenCalledTimes(1);
  expect(marks).toEqual([1]);
});

test('a removed event does not advance the offset when it becomes durable', async () => {
  const first = writes();
  settling.add(1, 1, [first]);
  settling.forget();
  expect(settling.idle).toBe(true);
  settling.add(7, 1, []);
  first.resolve();
  await turn();
  expect(marks).toEqual([7]);
});

test('events handled outside the log are stored when the promise resolves', async () => {
  const first = writes();
  let held: boolean | undefined;
  let done = false;
  const handled = handleAndStore(
    {
      async handle(_events, batch) {
        held = batch.held();
        await batch.durable();
        batch.settlesWith(first);
      },
    },
    [],
  ).then(() => {
    done = true;
  });
  await turn();
  expect({ held, done }).toEqual({ held: false, done: false });
  expect(first.hurry).toHaveBeenCalled();
  first.resolve();
  await handled;
});
