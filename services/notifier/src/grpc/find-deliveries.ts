import type { DeliveriesService } from '@headset-cloud/proto/notifier/v1/deliveries_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { deliveryStatuses, destinationSettings } from '../domain/delivery.ts';
import { listOwn } from '../own/list.ts';
import type { OwnDeliveries } from '../ports/own-deliveries.ts';
import { toOwnDelivery } from './own-messages.ts';

const defaultLimit = 100;
const maxLimit = 1000;

/** A page of an application's deliveries, newest first. */
export function findDeliveries(
  store: Pick<OwnDeliveries, 'newest' | 'ofTransaction'>,
): Handlers<typeof DeliveriesService>['findDeliveries'] {
  return async ({
    applicationId,
    state,
    destination,
    types,
    deviceId,
    transactionId,
    fromMs,
    toMs,
    after,
    limit,
  }) => {
    if (applicationId === '') throw new DomainError('invalid_argument', 'application_id is missing.');
    if (limit > maxLimit) throw new DomainError('invalid_argument', `limit is greater than ${maxLimit}.`);
    const { deliveries, cursor } = await listOwn(store, {
      ...{ applicationId, after, limit: limit || defaultLimit, transactionId: Number(transactionId) },
      filter: { types, deviceId },
      status: oneOf(deliveryStatuses, state, 'state'),
      destination: oneOf(destinationSettings, destination, 'destination'),
      fromMs: fromMs === undefined ? undefined : Number(fromMs),
      toMs: toMs === undefined ? undefined : Number(toMs),
    });
    return { deliveries: deliveries.map(({ delivery }) => toOwnDelivery(delivery)), cursor };
  };
}

function oneOf<T extends string>(known: readonly T[], text: string, name: string): T | undefined {
  if (text === '') return undefined;
  const found = known.find((one) => one === text);
  if (!found) throw new DomainError('invalid_argument', `${name} is not one of ${known.join(', ')}.`);
  return found;
}
