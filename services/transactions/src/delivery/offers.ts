import type { Mark } from '../domain/online.ts';
import { portions } from '../domain/portions.ts';
import { openStatuses } from '../domain/state.ts';
import type { Queries } from '../ports/queries.ts';
import type { StoredTransaction } from '../ports/stored-transaction.ts';

/** A transaction that is to be offered to a headset. */
export interface ToOffer {
  readonly id: number;
  /** The attempt number in the offer. */
  readonly attempt: number;
  /** Absent: it is read later, when it is its turn. */
  readonly transaction?: StoredTransaction;
}

/** Approximate limit of the bytes of operations in one answer. */
const answerBytes = 1024 * 1024;
/** Transactions in one read; few, because each may have 1 MiB. */
const readAtOnce = 8;

/**
 * Reads the transactions to offer, in order; those that have ended since are left out. With `bounded` it
 * reads only the first ones, until the answer is full, because any number may wait for a headset that was
 * offline for long.
 */
export async function readOffers(
  store: Pick<Queries, 'getMany'>,
  marks: readonly Pick<Mark, 'id' | 'attempts'>[],
  bounded: boolean,
): Promise<ToOffer[]> {
  const offers: ToOffer[] = [];
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
