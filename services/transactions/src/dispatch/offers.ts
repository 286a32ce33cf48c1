import type { Mark } from '../domain/online.ts';
import { portions } from '../domain/portions.ts';
import { openStatuses } from '../domain/state.ts';
import type { Queries } from '../ports/queries.ts';
import type { StoredTransaction } from '../ports/stored-transaction.ts';

/** Offer to a headset. */
export interface Offer {
  readonly id: number;
  /** Number of counted retries. */
  readonly attempt: number;
  /** Absent: device-link reads the transaction later. */
  readonly transaction?: StoredTransaction;
}

/** Approximate maximum size of the operations in an answer. */
const answerBytes = 1024 * 1024;
/** Transactions per read; few, because a transaction may have 1 MiB. */
const readAtOnce = 8;

/**
 * Reads the transactions to offer, in order, without those that have ended. With `bounded`, transactions that do not
 * fit into the answer are not read: many may wait for a headset after a long time offline.
 */
export async function readOffers(
  store: Pick<Queries, 'getMany'>,
  marks: readonly Pick<Mark, 'id' | 'attempts'>[],
  bounded: boolean,
): Promise<Offer[]> {
  const offers: Offer[] = [];
  let bytes = 0;
  for (const part of portions(marks, readAtOnce)) {
    const full = () => bounded && bytes >= answerBytes;
    const found = full() ? [] : await store.getMany(part.map(({ id }) => id));
    const byId = new Map(found.map((t) => [t.id, t]));
    for (const { id, attempts: attempt } of part) {
      const transaction = byId.get(id);
      if (full()) offers.push({ id, attempt });
      else if (transaction && openStatuses.includes(transaction.status)) {
        offers.push({ id, attempt, transaction });
        bytes += transaction.operation.length;
      }
    }
  }
  return offers;
}
