import { create, toBinary } from '@bufbuild/protobuf';
import { publishInParts } from '@headset-cloud/eventlog/publish-in-parts.ts';
import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import { type AuditRecord, AuditRecordSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { repeat } from '@headset-cloud/runtime/repeat.ts';
import type { Filter, Update } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { Registry } from 'prom-client';
import { registerPendingAge } from './pending-age.ts';
import { type PendingAuditFields, type PendingAuditRecord, recordOf, type Subject } from './record.ts';

/** Interval of the search for records that a crash or an outage left; milliseconds. */
const sweepEveryMs = 5000;
/** Maximum number of documents of one collection in one publish. */
const batchSize = 100;

/** Stores an audit record together with each change. */
export interface Audit {
  /**
   * Makes one change of an operator or integrator. `work` stores the record in the same write as the change
   * (`withAuditRecord`, `pendingAuditFields`); afterwards the record is published. A failed change leaves no record.
   */
  change<T>(subject: Subject, work: (record: PendingAuditRecord) => Promise<T>): Promise<T>;
}

/** Publishes the audit records that are pending in a service's documents. */
export interface AuditOutbox extends Audit {
  start(): void;
  stop(): Promise<void>;
}

type Pending = PendingAuditFields & { _id: string };

export function createAuditOutbox(options: {
  /** The collections whose documents may have pending records. */
  // biome-ignore lint/suspicious/noExplicitAny: documents of every shape
  readonly collections: readonly StoreCollection<any>[];
  readonly log: Pick<EventLog, 'publish'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Registry;
}): AuditOutbox {
  const { log, clock, logger } = options;
  const collections = options.collections as readonly StoreCollection<Pending>[];
  registerPendingAge(options.metrics, { collections, clock });

  async function publishPending(collection: StoreCollection<Pending>): Promise<number> {
    const found = await collection
      .find({ auditAtMs: { $gt: 0 } } as Filter<Pending>, {
        ...{ sort: { auditAtMs: 1 }, limit: batchSize },
        projection: { audit: 1 },
      })
      .toArray();
    if (found.length === 0) return 0;
    const records = found.flatMap(({ audit = [] }) => audit);
    // Two instances may publish the same records. The audit store ignores repeated ids.
    await publishInParts(log, topics.audit, records.map(toEvent));
    await collection.bulkWrite(
      found.map(({ _id, audit = [] }) => ({
        updateOne: {
          filter: { _id },
          update: {
            $pull: { audit: { id: { $in: audit.map(({ id }) => id) } } },
          } as unknown as Update<Pending>,
        },
      })),
      { ordered: false },
    );
    // A document that has another record by now stays pending.
    await collection.bulkWrite(
      found.map(({ _id }) => ({
        updateOne: {
          filter: { _id, 'audit.0': { $exists: false } } as Filter<Pending>,
          update: { $unset: { audit: '', auditAtMs: '' } } as unknown as Update<Pending>,
        },
      })),
      { ordered: false },
    );
    return found.length;
  }

  const sweep = repeat('the outbox of audit records', sweepEveryMs, logger, async () => {
    let published = 0;
    for (const collection of collections) published += await publishPending(collection);
    return published;
  });

  return {
    async change(subject, work) {
      try {
        return await work(recordOf(clock.now(), subject));
      } finally {
        // Publishes also after a failure, because the write may have succeeded.
        sweep.wake();
      }
    },
    start() {
      sweep.start();
      sweep.wake();
    },
    stop: () => sweep.stop(),
  };
}

/**
 * Converts a record to an event. Its key keeps the order of the records of an application, or of a device without one.
 */
function toEvent(record: PendingAuditRecord) {
  const message = messageOf(record);
  const key = record.applicationId || record.deviceId || record.developerId || record.action;
  return { key, value: toBinary(AuditRecordSchema, message) };
}

function messageOf(record: PendingAuditRecord): AuditRecord {
  const { id, atMs, action, applicationId, developerId, deviceId, target, fields, ...actor } = record;
  return create(AuditRecordSchema, {
    ...{ recordId: id, atMs: BigInt(atMs), action, applicationId, developerId, deviceId, target, actor },
    fields: [...fields],
  });
}
