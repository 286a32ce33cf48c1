import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { CounterDocument } from './documents.ts';

/** Draws transaction ids from blocks, so that a call does not have to write a document (rule B4). */
export interface IdSource {
  draw(): Promise<number>;
  /** Drops the rest of the block, because another process has drawn higher ids for a device. */
  dropBlock(): void;
}

export function createIdSource(counters: StoreCollection<CounterDocument>, blockSize: number): IdSource {
  let next = 0;
  let end = 0;
  let fetching: Promise<void> | undefined;

  const fetchBlock = async (): Promise<void> => {
    const counter = await counters.findOneAndUpdate(
      { _id: 'transactionId' },
      { $inc: { next: blockSize } },
      { upsert: true, returnDocument: 'after' },
    );
    if (!counter) throw new Error('the id counter was not returned');
    next = counter.next - blockSize + 1;
    end = counter.next + 1;
  };
  return {
    async draw() {
      while (next >= end) {
        fetching ??= fetchBlock().finally(() => {
          fetching = undefined;
        });
        await fetching;
      }
      return next++;
    },
    dropBlock() {
      next = end;
    },
  };
}
