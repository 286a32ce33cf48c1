import { untilDeadline, withoutDeadline } from '@headset-cloud/runtime/deadline.ts';
import { DomainError, isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { TransactionIds } from '../ports/transaction-ids.ts';
import type { CounterDocument } from './documents.ts';

/** Draws transaction ids from reserved blocks, so that most calls need no database write (rule B4). */
export interface IdSource {
  draw(): Promise<number>;
  /**
   * Discards the block of `id`, because another process has drawn higher ids for a device. A newer block stays, so
   * concurrent callers with ids of one block discard it once.
   */
  dropBlockOf(id: number): void;
}

export function createIdSource(counters: StoreCollection<CounterDocument>, blockSize: number): IdSource {
  let next = 0;
  let start = 0;
  let end = 0;
  let fetching: Promise<void> | undefined;

  const fetchBlock = async (triesLeft = 5): Promise<void> => {
    const counter = await advance();
    if (counter) {
      start = counter.next - blockSize + 1;
      next = start;
      end = counter.next + 1;
      return;
    }
    if (triesLeft <= 1) throw new DomainError('unavailable', 'The id counter could not be advanced.');
    await fetchBlock(triesLeft - 1);
  };
  /** Undefined: another instance created the counter at the same time, so a retry succeeds. */
  const advance = async (): Promise<CounterDocument | undefined> => {
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
        // Callers share the block, so it is fetched without the deadline of the first caller.
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

/** Creates the port; `lastIdOf` returns the highest id of a device so far. */
export function createTransactionIds(
  ids: IdSource,
  { lastIdOf }: { lastIdOf(deviceId: string): Promise<number> },
): TransactionIds {
  return {
    async drawIdFor(deviceId) {
      const lastId = await lastIdOf(deviceId);
      let id = await ids.draw();
      while (id <= lastId) {
        // Another process has drawn higher ids for this device; a new block is above them.
        ids.dropBlockOf(id);
        id = await ids.draw();
      }
      return id;
    },
    drawId: () => ids.draw(),
    dropIdBlockOf: (id) => ids.dropBlockOf(id),
  };
}
