import { decodeEvent } from '@headset-cloud/eventlog/decode.ts';
import type { LogEvent } from '@headset-cloud/eventlog/types.ts';
import { PoisonEventError } from '@headset-cloud/eventlog/types.ts';
import { AuditRecordSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { Counter, Gauge, type Registry } from 'prom-client';
import { documentOf, lineOf } from './records.ts';
import type { AuditStore } from './store.ts';

/** The consumer group: each record reaches the audit store once, or again after a crash. */
export const auditGroup = 'billing-audit';

const storeFailing = 'the audit store takes no records; they wait in the log';

/**
 * Maximum age of a failed write that is reported; milliseconds. While records wait, this instance retries the write
 * every few seconds. If it does not, another instance has taken over the records.
 */
const failureValidMs = 60_000;

/** Stores the records that services publish. */
export interface AuditKeeper {
  handle(events: readonly LogEvent[]): Promise<void>;
  /** Why records wait in the log; undefined if none wait. */
  notReady(): string | undefined;
}

/**
 * Creates the consumer of audit records. While the store is full or unavailable, the records wait in the event log
 * and are retried without limit. This failure does not make a record a dead letter. A record is written to the
 * process's log after it is stored. If the process crashes in between, the record is handled, and logged, again with
 * the same id.
 */
export function createAuditKeeper(deps: {
  readonly store: Pick<AuditStore, 'add'>;
  readonly metrics: Registry;
  readonly logger: Logger;
  readonly clock: Clock;
}): AuditKeeper {
  const { store, logger, clock } = deps;
  let failedAtMs: number | undefined;
  const notReady = () =>
    failedAtMs !== undefined && monotonicMs(clock) - failedAtMs < failureValidMs ? storeFailing : undefined;
  const records = new Counter({
    name: 'headset_audit_records_total',
    help: 'Audit records that were consumed, by outcome: stored, or duplicate (already stored).',
    labelNames: ['outcome'],
    registers: [deps.metrics],
  });
  new Gauge({
    name: 'headset_audit_store_failing',
    help: '1 while the audit store fails and records wait in the log, otherwise 0.',
    registers: [deps.metrics],
    collect() {
      this.set(notReady() === undefined ? 0 : 1);
    },
  });

  return {
    async handle(events) {
      const documents = events.map((event) => {
        const record = decodeEvent(AuditRecordSchema, event);
        if (record.recordId === '') throw new PoisonEventError(event, 'an audit record without an id');
        return documentOf(record);
      });
      let added: number;
      try {
        added = await store.add(documents);
      } catch (cause) {
        failedAtMs = monotonicMs(clock);
        throw new DomainError('unavailable', storeFailing, { cause, retryAfterMs: 1000 });
      }
      failedAtMs = undefined;
      records.inc({ outcome: 'stored' }, added);
      records.inc({ outcome: 'duplicate' }, documents.length - added);
      for (const document of documents) logger.info({ audit: lineOf(document) }, 'audit record');
    },
    notReady,
  };
}
