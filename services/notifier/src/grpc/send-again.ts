import { randomUUID } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { DeliveriesService, OwnDeliverySchema } from '@headset-cloud/proto/notifier/v1/deliveries_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import type { Idempotency, Storable } from '@headset-cloud/rules/idempotency.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { type Delivery, type DeliveryStatus, laneOf } from '../domain/delivery.ts';
import type { DeliveryStore } from '../ports/delivery-store.ts';
import type { OwnDeliveries } from '../ports/own-deliveries.ts';
import type { Scheduler } from '../scheduling/scheduler.ts';
import { toOwnDelivery } from './own-messages.ts';
import { ownDelivery } from './read-delivery.ts';

type OwnDeliveryInit = MessageInitShape<typeof OwnDeliverySchema>;
/** An answer as plain data, which can be stored. */
type StoredAnswer = { readonly [key: string]: Storable };

/**
 * Sends a dead or delivered callback again: same id and body, a new time limit and new attempts, outside the order of
 * its order key. A repeat with the same Idempotency-Key gets the first answer. The delivery contains the id of the
 * request, so that a repeat does not send it once more if the first answer was not stored.
 */
export function sendAgain(options: {
  store: Pick<DeliveryStore, 'get'>;
  own: Pick<OwnDeliveries, 'sendAgain' | 'sentAgainBy'>;
  scheduler: Pick<Scheduler, 'foundWork'>;
  clock: Clock;
  audit: Audit;
  idempotency: Idempotency;
}): Handlers<typeof DeliveriesService>['sendAgain'] {
  const { store, own, scheduler, clock, audit, idempotency } = options;

  async function sentBy(by: string, applicationId: string, deliveryId: string, force: boolean) {
    const present = await ownDelivery(store, applicationId, deliveryId);
    if ((await own.sentAgainBy(deliveryId)) === by) return present;
    requireResendable(present, force);
    const subject = { target: deliveryId, fields: ['status'], applicationId };
    const sent = await audit.change(subject, (record) => own.sendAgain(deliveryId, by, clock.now(), record));
    if (!sent) {
      const now = await ownDelivery(store, applicationId, deliveryId);
      if ((await own.sentAgainBy(deliveryId)) !== by) throw notResendable(now);
      return now;
    }
    scheduler.foundWork(laneOf(sent.applicationId, sent.destination));
    return sent;
  }

  return async ({ caller, deliveryId, force }) => ({
    delivery: (await idempotency.run(caller, {
      draw: async () => randomUUID(),
      work: async (by) =>
        toOwnDelivery(await sentBy(by, caller?.applicationId ?? '', deliveryId, force)) as StoredAnswer,
    })) as OwnDeliveryInit,
  });
}

function requireResendable(delivery: Delivery, force: boolean): void {
  if (delivery.status !== 'dead' && delivery.status !== 'delivered') throw notResendable(delivery);
  const hasFailed = delivery.status === 'dead' || delivery.recentAttempts.some(({ error }) => error !== '');
  if (!hasFailed && !force) {
    throw new DomainError(
      'conflict',
      'The delivery never failed. To send it again anyway, set "force": true.',
    );
  }
}

function notResendable({ status }: Delivery): DomainError {
  return new DomainError('conflict', reasons[status] ?? reasons.pending);
}

const reasons: { readonly pending: string } & Partial<Record<DeliveryStatus, string>> = {
  pending: 'The delivery is pending: it is retried automatically.',
  replaced: 'The delivery was replaced by a later one of its transaction and is not sent again.',
  unsent: 'The notice is only in the event feed and is not sent.',
};
