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

const refusal = 'the audit store takes no records; they wait in the log';

/**
 * How long a failed write counts; milliseconds. While records wait, a write is tried every few seconds. A longer
 * silence means that another instance stores them now.
 */
const refusalCountsMs = 60_000;

/** Stores the records that services publish. */
export interface AuditKeeper {
  handle(events: readonly LogEvent[]): Promise<void>;
  /** Why records wait in the log; undefined if none wait. */
  notReady(): string | undefined;
}

/**
 * While the store fails (full or unavailable), the records wait in the log and are retried without limit. No record
 * becomes a dead letter because of such a failure. A record is logged after it is stored. After a crash in between, it
 * is logged again with the same id.
 */
export function createAuditKeeper(deps: {
  readonly store: Pick<AuditStore, 'add'>;
  readonly metrics: Registry;
  readonly logger: Logger;
  readonly clock: Clock;
}): AuditKeeper {
  const { store, logger, clock } = deps;
  let refusedAtMs: number | undefined;
  const notReady = () =>
    refusedAtMs !== undefined && monotonicMs(clock) - refusedAtMs < refusalCountsMs ? refusal : undefined;
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
        refusedAtMs = monotonicMs(clock);
        throw new DomainError('unavailable', refusal, { cause, retryAfterMs: 1000 });
      }
      refusedAtMs = undefined;
      records.inc({ outcome: 'stored' }, added);
      records.inc({ outcome: 'duplicate' }, documents.length - added);
      for (const document of documents) logger.info({ audit: lineOf(document) }, 'audit record');
    },
    notReady,
  };
}
