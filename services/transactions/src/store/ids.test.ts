import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { untilDeadline, withDeadline } from '@headset-cloud/runtime/deadline.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type CounterDocument, collections } from './documents.ts';
import { createIdSource, type IdSource } from './ids.ts';

let bed: TestBed;
let ids: IdSource;
let others: IdSource;
beforeEach(() => {
  bed = openTestBed('transactions', { onMongo: true });
  const source = () => createIdSource(bed.store.collection<CounterDocument>(collections.counters), 10);
  ids = source();
  others = source();
});
afterEach(() => bed.remove());

it('concurrent callers whose ids are too low discard their block once, not the new block', async () => {
  const low = [await ids.draw(), await ids.draw(), await ids.draw()];
  const high = await others.draw();
  const again: number[] = [];
  for (const id of low) {
    ids.dropBlockOf(id);
    again.push(await ids.draw());
  }
  expect(low.every((id) => id < high) && again.every((id) => id > high)).toBe(true);
  expect(again).toEqual([21, 22, 23]);
});

it('callers that wait for one block have their own deadlines', async () => {
  const time = createFakeTime();
  const slow = Promise.withResolvers<{ next: number }>();
  const counters = { findOneAndUpdate: () => untilDeadline(slow.promise) } as never;
  const source = createIdSource(counters, 10);
  const draw = (ms: number) => withDeadline(ms, () => source.draw(), time);
  const first = expect(draw(100)).rejects.toMatchObject({ code: 'deadline_exceeded' });
  const second = draw(1000);
  await time.advance(100);
  await first;
  slow.resolve({ next: 10 });
  expect(await second).toBe(1);
});
