import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { setOrLeaveOut } from '@headset-cloud/runtime/set-or-leave-out.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { Gauge, type Registry } from 'prom-client';
import type { OwingDocument } from './record.ts';

type Owing = OwingDocument & { _id: string };

/** The documents of one outbox. */
export interface OwedSource {
  readonly collections: readonly StoreCollection<Owing>[];
  readonly clock: Clock;
}

/** Outboxes of one process share a registry, and therefore the gauge. */
const shared = new WeakMap<Registry, OwedSource[]>();

/** Exports the age of the oldest pending record, so that records that never reach the log are noticed. */
export function registerOwed(registry: Registry, source: OwedSource): void {
  const known = shared.get(registry);
  if (known) {
    known.push(source);
    return;
  }
  const sources = [source];
  shared.set(registry, sources);
  new Gauge({
    name: 'headset_audit_oldest_owed_age_seconds',
    help: 'Time since the oldest change whose audit record is not in the event log yet; 0 when there is none. Whole platform: use max, not sum.',
    registers: [registry],
    async collect() {
      await setOrLeaveOut(this, {}, async () => Math.max(0, ...(await Promise.all(sources.map(ageOf)))));
    },
  });
}

/** Age of the oldest pending record in seconds; 0 if there is none. */
async function ageOf({ collections, clock }: OwedSource): Promise<number> {
  const ages = await Promise.all(
    collections.map(async (collection) => {
      const owing = { auditAtMs: { $gt: 0 } } as Filter<Owing>;
      const oldest = await collection.findOne(owing, { sort: { auditAtMs: 1 }, projection: { audit: 1 } });
      // The first record of a document is its oldest. A document that changes often has a recent last record.
      const sinceMs = oldest?.audit?.[0]?.atMs;
      return sinceMs === undefined ? 0 : (clock.now() - sinceMs) / 1000;
    }),
  );
  return Math.max(0, ...ages);
}
