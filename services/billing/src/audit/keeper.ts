import { type Clock, monotonicMs } from '@headset-cloud/kit/clock.ts';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import { decodeEvent } from '@headset-cloud/kit/eventlog/decode.ts';
import type { LogEvent } from '@headset-cloud/kit/eventlog/types.ts';
import { PoisonEventError } from '@headset-cloud/kit/eventlog/types.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { AuditRecordSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import { Counter, Gauge, type Registry } from 'prom-client';
import { documentOf, lineOf } from './records.ts';
import type { AuditStore } from './store.ts';

/** The consumer group: each record reaches the audit store once, or again after a crash. */
export const auditGroup = 'billing-audit';

const refusal = 'the audit store takes no records; they wait in the log';

/**
 * How long a refusal counts; milliseconds. While records wait, one follows another within seconds: a longer
 * silence means that another instance stores them now.
 */
const refusalCountsMs = 60_000;

/** Stores the records that services publish. */
export interface AuditKeeper {
  handle(events: readonly LogEvent[]): Promise<void>;
  /** Why records wait in the log; undefined: they do not. */
  notReady(): string | undefined;
}

/**
 * While the store refuses (full, away), the records wait in the log and are tried again without end: none
 * becomes a dead letter because of it. A record's log line follows once it is stored; after a crash in
 * between it comes again, with the same id.
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
    help: 'Audit records that came, by outcome: stored, or duplicate (known already).',
    labelNames: ['outcome'],
    registers: [deps.metrics],
  });
  new Gauge({
    name: 'headset_audit_store_failing',
    help: '1 while the audit store refuses records, which wait in the log; else 0.',
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
