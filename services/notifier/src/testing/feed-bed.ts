import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { DeliveryDocument } from '../store/documents.ts';
import { deliveriesCollection, feedIndexes, notifierIndexes } from '../store/indexes.ts';

/** Fields of a delivery that a test sets. */
export type Given = Partial<DeliveryDocument> & { readonly _id: string };

/** A store with the indexes of the feed, without automatic removal. */
export async function openFeedBed(): Promise<{
  readonly bed: TestBed;
  readonly deliveries: StoreCollection<DeliveryDocument>;
}> {
  const bed = openTestBed('notifier', { onMongo: true });
  const deliveries = bed.store.collection<DeliveryDocument>(deliveriesCollection);
  await deliveries.createIndexes([
    ...(notifierIndexes[deliveriesCollection] ?? []).filter(({ name }) => name !== 'expire'),
    ...(feedIndexes[deliveriesCollection] ?? []),
  ]);
  return { bed, deliveries };
}

/** A pending delivery, created at `nowMs` by default. */
export function eventDocument({ _id, ...more }: Given, nowMs: number): DeliveryDocument {
  return {
    ...{ _id, applicationId: 'app', destination: 'deviceEvent', orderKey: '', sequence: 0, order: 'none' },
    ...{ after: null, replaceable: false, status: 'pending', attempts: 0 },
    ...{ body: Buffer.from(JSON.stringify({ operationId: 'notify-boot', deviceId: '350000000000001' })) },
    ...{ createdAtMs: nowMs, budgetFromMs: 1, nextAttemptAtMs: 1, dueAtMs: 1, owner: null, takenOver: false },
    ...{ deliveredAtMs: 0, lastOutcome: '', recentAttempts: [], traceparent: '', lane: 'app/deviceEvent' },
    ...more,
  } as DeliveryDocument;
}
