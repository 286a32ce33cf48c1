import { createHash, randomUUID } from 'node:crypto';
import type { Audit } from '@headset-cloud/kit/audit/outbox.ts';
import type { Clock } from '@headset-cloud/kit/clock.ts';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import type { Handlers } from '@headset-cloud/kit/rpc/types.ts';
import type { Caller } from '@headset-cloud/proto/common/v1/common_pb.ts';
import type { DeliveriesService } from '@headset-cloud/proto/notifier/v1/deliveries_pb.ts';
import { type Delivery, type DeliveryStatus, laneOf } from '../domain/delivery.ts';
import type { DeliveryStore, OwnDeliveries } from '../ports.ts';
import type { Scheduler } from '../scheduling/scheduler.ts';
import { toOwnDelivery } from './own-messages.ts';
import { ownDelivery } from './read-delivery.ts';

/**
 * Sends a dead or delivered one again: same id and body, a new budget of time and attempts, out of its order. The
 * delivery remembers the request, so that its repeat with the same Idempotency-Key gets the same answer.
 */
export function sendAgain(options: {
  store: Pick<DeliveryStore, 'get'>;
  own: Pick<OwnDeliveries, 'sendAgain' | 'sentAgainBy'>;
  scheduler: Pick<Scheduler, 'foundWork'>;
  clock: Clock;
  audit: Audit;
}): Handlers<typeof DeliveriesService>['sendAgain'] {
  const { store, own, scheduler, clock, audit } = options;
  return async ({ caller, deliveryId, force }) => {
    const applicationId = caller?.applicationId ?? '';
    const by = requestOf(caller);
    const present = await ownDelivery(store, applicationId, deliveryId);
    if ((await own.sentAgainBy(deliveryId)) === by) return { delivery: toOwnDelivery(present) };
    refuse(present, force);
    const subject = { target: deliveryId, fields: ['status'], applicationId };
    const sent = await audit.change(subject, (record) => own.sendAgain(deliveryId, by, clock.now(), record));
    if (!sent) {
      const now = await ownDelivery(store, applicationId, deliveryId);
      if ((await own.sentAgainBy(deliveryId)) !== by) throw notNow(now);
      return { delivery: toOwnDelivery(now) };
    }
    scheduler.foundWork(laneOf(sent.applicationId, sent.destination));
    return { delivery: toOwnDelivery(sent) };
  };
}

function requestOf(caller: Caller | undefined): string {
  const { idempotency, clientId = '' } = caller ?? {};
  if (!idempotency) return randomUUID();
  const { method, path, key, bodySha256 } = idempotency;
  return createHash('sha256')
    .update(JSON.stringify([clientId, method, path, key, Buffer.from(bodySha256).toString('hex')]))
    .digest('base64url');
}

function refuse(delivery: Delivery, force: boolean): void {
  if (delivery.status !== 'dead' && delivery.status !== 'delivered') throw notNow(delivery);
  const hasFailed = delivery.status === 'dead' || delivery.recentAttempts.some(({ error }) => error !== '');
  if (!hasFailed && !force) {
    throw new DomainError(
      'conflict',
      'The delivery never failed. To send it again all the same, give "force": true.',
    );
  }
}

function notNow({ status }: Delivery): DomainError {
  return new DomainError('conflict', reasons[status] ?? reasons.pending);
}

const reasons: { readonly pending: string } & Partial<Record<DeliveryStatus, string>> = {
  pending: 'The delivery is still to be sent: it is tried again by itself.',
  replaced: 'The delivery was replaced by a later one of its transaction and is not sent again.',
  unsent: 'The notice is for the event feed only and is not sent.',
};
