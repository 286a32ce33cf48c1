import { gunzipSync, gzipSync } from 'node:zlib';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { Binary } from 'mongodb';
import type { Bill } from '../domain/bill.ts';
import { type Month, monthKey } from '../domain/month.ts';
import type { FrozenBills } from '../ports.ts';
import type { BillDocument } from './documents.ts';

/** Bills whose usage is deleted or is about to be deleted (ADR 0045). Written once. */
export function createFrozenBills(collection: StoreCollection<BillDocument>): FrozenBills {
  const idOf = (applicationId: string, month: Month) => `${applicationId}/${monthKey(month)}`;
  return {
    async get(applicationId, month) {
      const found = await collection.findOne({ _id: idOf(applicationId, month) });
      if (!found) return undefined;
      const { bill } = found;
      return JSON.parse(gunzipSync(bill instanceof Uint8Array ? bill : bill.value()).toString()) as Bill;
    },
    async freeze(applicationId, month, bill) {
      try {
        await collection.insertOne({
          _id: idOf(applicationId, month),
          // A bill of 100,000 devices has 10 MB as JSON.
          bill: new Binary(gzipSync(JSON.stringify(bill))),
        });
      } catch (error) {
        // Another instance was first: its bill stays.
        if (!isDuplicateKey(error)) throw error;
      }
    },
  };
}
