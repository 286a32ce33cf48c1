import type { DeliveriesService } from '@headset-cloud/proto/notifier/v1/deliveries_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { DeliveryStore } from '../ports/delivery-store.ts';
import { toOwnAttempt, toOwnDelivery } from './own-messages.ts';

/** Throws not_found, both for a missing delivery and for a delivery of another application. */
export async function ownDelivery(
  store: Pick<DeliveryStore, 'get'>,
  applicationId: string,
  id: string,
): Promise<Delivery> {
  const delivery = await store.get(id);
  if (!delivery || delivery.applicationId !== applicationId) {
    throw new DomainError('not_found', 'The delivery was not found.');
  }
  return delivery;
}

/** One delivery with its attempts and its body. */
export function readDelivery(
  store: Pick<DeliveryStore, 'get'>,
): Handlers<typeof DeliveriesService>['readDelivery'] {
  return async ({ applicationId, deliveryId }) => {
    const delivery = await ownDelivery(store, applicationId, deliveryId);
    return {
      delivery: toOwnDelivery(delivery),
      attempts: delivery.recentAttempts.map(toOwnAttempt),
      body: delivery.body.toString('utf8'),
    };
  };
}
