import { untilDeadline, withoutDeadline } from '@headset-cloud/runtime/deadline.ts';
import { DomainError, isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { TransactionIds } from '../ports/transaction-ids.ts';
import type { CounterDocument } from './documents.ts';

/** Draws transaction ids from blocks, so that a call does not have to write a document (rule B4). */
export interface IdSource {
  draw(): Promise<number>;
  /**
   * Drops the block of `id`, because another process has drawn higher ids for a device. A newer block stays: concurrent
   * callers with ids of one block drop it once.
   */
  dropBlockOf(id: number): void;
}

export function createIdSource(counters: StoreCollection<CounterDocument>, blockSize: number): IdSource {
  let next = 0;
  let start = 0;
  let end = 0;
  let fetching: Promise<void> | undefined;

  const fetchBlock = async (triesLeft = 5): Promise<void> => {
    const counter = await raise();
    if (counter) {
      start = counter.next - blockSize + 1;
      next = start;
      end = counter.next + 1;
      return;
    }
    if (triesLeft <= 1) throw new DomainError('unavailable', 'The id counter could not be raised.');
    await fetchBlock(triesLeft - 1);
  };
  /** Undefined: another instance created the counter at the same time; it exists now. */
  const raise = async (): Promise<CounterDocument | undefined> => {
    try {
      const counter = await counters.findOneAndUpdate(
        { _id: 'transactionId' },
        { $inc: { next: blockSize } },
        { upsert: true, returnDocument: 'after' },
      );
      return counter ?? undefined;
    } catch (error) {
      if (isDuplicateKey(error)) return undefined;
      throw error;
    }
  };
  return {
    async draw() {
      while (next >= end) {
        // Callers share the block, so it is fetched without the deadline of the first one.
        fetching ??= withoutDeadline(() => fetchBlock()).finally(() => {
          fetching = undefined;
        });
        await untilDeadline(fetching);
      }
      return next++;
    },
    dropBlockOf(id) {
      if (id >= start && id < end) next = end;
    },
  };
}

/** The ids of transactions; `lastIdOf` returns the highest id of a device so far. */
export function createTransactionIds(
  ids: IdSource,
  { lastIdOf }: { lastIdOf(deviceId: string): Promise<number> },
): TransactionIds {
  return {
    async drawIdFor(deviceId) {
      const lastId = await lastIdOf(deviceId);
      let id = await ids.draw();
      while (id <= lastId) {
        // Another process has drawn higher ids for this device. A new block is above them.
        ids.dropBlockOf(id);
        id = await ids.draw();
      }
      return id;
    },
    drawId: () => ids.draw(),
    dropIdBlockOf: (id) => ids.dropBlockOf(id),
  };
}
