import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { refusals } from '../domain/refusals.ts';
import type { Upload } from '../domain/upload.ts';
import type { UploadStore } from '../ports/upload-store.ts';
import type { UploadDocument } from './documents.ts';

export function createUploadStore(uploads: StoreCollection<UploadDocument>): UploadStore {
  return {
    async open({ id, artifactId, developerId, sizeBytes, expiresAtMs, withdrawals = 0 }, firstCheckMs) {
      const opened = { artifactId, developerId, sizeBytes, ...(withdrawals > 0 && { withdrawals }) };
      for (let tries = 1; ; tries += 1) {
        try {
          await uploads.updateOne(
            { _id: id, closing: { $ne: true } },
            {
              $max: { expiresAtMs },
              $min: { dueAtMs: firstCheckMs },
              $setOnInsert: { ...opened, looks: 0, settled: false, leaseUntilMs: 0 },
            },
            { upsert: true },
          );
          return;
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
          // First try: a concurrent call may have created the document. Second try: the document is being closed.
          if (tries === 2) throw refusals.closing();
        }
      }
    },

    async get(id) {
      const found = await uploads.findOne({ _id: id });
      return found ? uploadOf(found) : undefined;
    },

    async remove(id) {
      await uploads.deleteOne({ _id: id });
    },

    async close(id, expiresAtMs) {
      const { matchedCount } = await uploads.updateOne({ _id: id, expiresAtMs }, { $set: { closing: true } });
      return matchedCount === 1;
    },

    async unsettled(of, limit) {
      const found = await uploads
        .find({ ...of, settled: false }, { limit, projection: { _id: 1 } })
        .toArray();
      return found.map((u) => u._id);
    },

    async due(nowMs, limit) {
      const found = await uploads
        .find({ dueAtMs: { $lte: nowMs } }, { sort: { dueAtMs: 1 }, limit, projection: { _id: 1 } })
        .toArray();
      return found.map((u) => u._id);
    },

    async overdue(nowMs) {
      const due = { dueAtMs: { $lte: nowMs } };
      const options = { sort: { dueAtMs: 1 }, projection: { dueAtMs: 1 } } as const;
      const [count, first] = await Promise.all([uploads.countDocuments(due), uploads.findOne(due, options)]);
      return { count, oldestDueAtMs: first?.dueAtMs };
    },

    async resetFutureDueTimes(nowMs, { unsettledMs, settledMs }) {
      for (const [settled, latestMs] of [
        [false, unsettledMs],
        [true, settledMs],
      ] as const) {
        await uploads.updateMany({ settled, dueAtMs: { $gt: latestMs } }, { $set: { dueAtMs: nowMs } });
      }
    },

    async claim(id, { nowMs, untilMs, latestMs }) {
      const claimed = await uploads.findOneAndUpdate(
        { _id: id, $or: [{ leaseUntilMs: { $lte: nowMs } }, { leaseUntilMs: { $gt: latestMs } }] },
        { $set: { leaseUntilMs: untilMs, dueAtMs: untilMs } },
        { returnDocument: 'after' },
      );
      return claimed ? uploadOf(claimed) : undefined;
    },

    async renew(id, untilMs) {
      // Has no effect if the claim was released in the meantime.
      await uploads.updateOne(
        { _id: id, leaseUntilMs: { $gt: 0 } },
        { $max: { leaseUntilMs: untilMs, dueAtMs: untilMs } },
      );
    },

    async release(id, { atMs, ...next }) {
      await uploads.updateOne({ _id: id }, { $set: { leaseUntilMs: 0, dueAtMs: atMs, ...next } });
    },
  };
}

function uploadOf(document: UploadDocument): Upload {
  const { _id: id, dueAtMs: _due, leaseUntilMs: _lease, closing: _closing, ...upload } = document;
  return { id, ...upload };
}
