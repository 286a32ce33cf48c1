import type { Mark } from '../domain/online.ts';
import { portions } from '../domain/portions.ts';
import { openStatuses } from '../domain/state.ts';
import type { Queries, StoredTransaction } from '../ports.ts';

/** What is to be offered to a headset. */
export interface ToOffer {
  readonly id: number;
  /** To be written into the offer. */
  readonly attempt: number;
  /** Absent: it is read when it is its turn. */
  readonly transaction?: StoredTransaction;
}

/** About so many bytes of operations go into one answer. */
const answerBytes = 1024 * 1024;
/** Transactions that are read at once: each may have 1 MiB. */
const readAtOnce = 8;

/**
 * Reads what is offered, in order; what has ended since is left out. With `bounded`, only the first ones,
 * until the answer is full: a headset that was away for long may have any number waiting.
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
