import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
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

it('concurrent callers whose ids are too low drop their block once, not the fresh one', async () => {
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
