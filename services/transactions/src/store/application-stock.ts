import { isDuplicateKey } from '@headset-cloud/kit/errors.ts';
import type { Store, StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { ApplicationStock } from '../ports.ts';
import { collections, type StockDocument, type TransactionDocument } from './documents.ts';
import { createRecounts, type Recounts } from './stock.ts';

/** Part of a limit that a process takes at a time, so that a create costs no write of its own. */
const portion = 1 / 200;

interface Taken {
  /** Creates that this process may still admit. */
  left: number;
  taking: Promise<boolean> | undefined;
}

/** How many unprocessed transactions each application has, in a document of its own (ADR 0040). */
export function createApplicationStock(store: Store): ApplicationStock {
  const stocks: StoreCollection<StockDocument> = store.collection(collections.stocks);
  const transactions: StoreCollection<TransactionDocument> = store.collection(collections.transactions);
  const recounts: Recounts = createRecounts({
    async read(applicationId) {
      const found = await stocks.findOne({ _id: applicationId });
      return { atMost: found?.atMost, recounts: found?.recounts ?? 0 };
    },
    async count(applicationId) {
      const states = ['created', 'published', 'accepted'] as const;
      const counts = await Promise.all(
        states.map((status) => transactions.countDocuments({ applicationId, status })),
      );
      return counts.reduce((sum, n) => sum + n, 0);
    },
    async correct(applicationId, seen, counted) {
      if (seen.atMost === undefined) {
        try {
          await stocks.insertOne({ _id: applicationId, atMost: counted, recounts: 1 });
        } catch (error) {
          // Another process was first.
          if (!isDuplicateKey(error)) throw error;
        }
        return;
      }
      await stocks.updateOne(
        { _id: applicationId, recounts: seen.recounts },
        { $inc: { atMost: counted - seen.atMost, recounts: 1 } },
      );
    },
  });
  const all = new Map<string, Taken>();

  async function take(applicationId: string, most: number): Promise<boolean> {
    const size = Math.max(1, Math.floor(most * portion));
    const taken = async () =>
      (
        await stocks.updateOne(
          { _id: applicationId, atMost: { $lte: most - size } },
          { $inc: { atMost: size } },
        )
      ).matchedCount === 1;
    if (!(await taken())) {
      await recounts.recount(applicationId);
      if (!(await taken())) return false;
    }
    const of = all.get(applicationId);
    if (of) of.left += size;
    return true;
  }

  return {
    async admit(applicationId, most) {
      let of = all.get(applicationId);
      if (!of) {
        of = { left: 0, taking: undefined };
        all.set(applicationId, of);
      }
      const own = of;
      while (own.left < 1) {
        if (recounts.isFull(applicationId)) return false;
        own.taking ??= take(applicationId, most).finally(() => {
          own.taking = undefined;
        });
        if (!(await own.taking)) {
          recounts.setFull(applicationId);
          return false;
        }
      }
      own.left -= 1;
      return true;
    },
    giveBack(applicationId) {
      const of = all.get(applicationId);
      if (of) of.left += 1;
    },
  };
}
