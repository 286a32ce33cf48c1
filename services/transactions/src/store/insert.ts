import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import { coalescedWriter } from '@headset-cloud/store/coalesced.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { Binary } from 'mongodb';
import { initialChange } from '../domain/state.ts';
import type { Transitions } from '../ports/transitions.ts';
import { type createChanges, toStored, withTime } from './changes.ts';
import type { TransactionDocument } from './documents.ts';

/** Stores new transactions. Concurrent inserts share one write. */
export function createInsert(
  transactions: StoreCollection<TransactionDocument>,
  { changes }: { changes: ReturnType<typeof createChanges> },
): Pick<Transitions, 'insert'> {
  const insert = coalescedWriter<TransactionDocument>(transactions, {
    one: (document) => transactions.insertOne(document),
    many: (documents) => transactions.insertMany([...documents], { ordered: false }),
  });
  return {
    async insert(t, now) {
      const at = new Date(now);
      const { to: status, callbacks, end } = initialChange(t.failMessage, now);
      const document: TransactionDocument = {
        _id: t.id,
        deviceId: t.deviceId,
        applicationId: t.applicationId,
        operationId: t.operationId,
        subject: t.subject,
        status,
        ...(!end && { open: true as const }),
        activationEpoch: t.activationEpoch,
        operation: new Binary(t.operation),
        createdAt: at,
        updatedAt: at,
        attempts: 0,
        sentEpoch: 0,
        outboxSeq: callbacks.length,
        dueAt: changes.dueAt(now),
        ...(end && { outbox: withTime(callbacks, now), end: { ...end, at } }),
        ...(t.traceparent && { traceparent: t.traceparent }),
        ...(t.minimum.client && { minimumClientVersion: t.minimum.client }),
        ...(t.minimum.firmware && { minimumFirmwareVersion: t.minimum.firmware }),
      };
      try {
        await insert(document);
        return toStored(document);
      } catch (error) {
        if (isDuplicateKey(error)) return undefined;
        throw error;
      }
    },
  };
}
