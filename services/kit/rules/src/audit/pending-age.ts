import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { setOrLeaveOut } from '@headset-cloud/runtime/set-or-leave-out.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { Gauge, type Registry } from 'prom-client';
import type { PendingAuditFields } from './record.ts';

type Pending = PendingAuditFields & { _id: string };

/** The documents of one outbox. */
export interface PendingSource {
  readonly collections: readonly StoreCollection<Pending>[];
  readonly clock: Clock;
}

/** The sources of each registry's gauge: all outboxes of a process share one gauge. */
const shared = new WeakMap<Registry, PendingSource[]>();

/** Registers the metric of the oldest pending record's age, which rises if records do not reach the log. */
export function registerPendingAge(registry: Registry, source: PendingSource): void {
  const known = shared.get(registry);
  if (known) {
    known.push(source);
    return;
  }
  const sources = [source];
  shared.set(registry, sources);
  new Gauge({
    name: 'headset_audit_oldest_pending_age_seconds',
    help: 'Time since the oldest change whose audit record is not in the event log yet; 0 when there is none. Whole platform: use max, not sum.',
    registers: [registry],
    async collect() {
      await setOrLeaveOut(this, {}, async () => Math.max(0, ...(await Promise.all(sources.map(oldestAgeS)))));
    },
  });
}

/** Age of the oldest pending record in seconds; 0 if there is none. */
async function oldestAgeS({ collections, clock }: PendingSource): Promise<number> {
  const ages = await Promise.all(
    collections.map(async (collection) => {
      const pending = { auditAtMs: { $gt: 0 } } as Filter<Pending>;
      const oldest = await collection.findOne(pending, { sort: { auditAtMs: 1 }, projection: { audit: 1 } });
      // A document's first record is its oldest. `auditAtMs` is the time of its newest record.
      const sinceMs = oldest?.audit?.[0]?.atMs;
      return sinceMs === undefined ? 0 : (clock.now() - sinceMs) / 1000;
    }),
  );
  return Math.max(0, ...ages);
}
