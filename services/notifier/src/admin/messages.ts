import type { MessageInitShape } from '@bufbuild/protobuf';
import type { AttemptSchema, DeliverySchema } from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import type { AttemptRecord, Delivery } from '../domain/delivery.ts';

/** `host`: host of the next attempt, for a delivery without attempts. */
export function toDeliveryMessage(
  delivery: Delivery,
  host: string | undefined,
): MessageInitShape<typeof DeliverySchema> {
  return {
    notificationId: delivery.id,
    applicationId: delivery.applicationId,
    destination: delivery.destination,
    orderKey: delivery.orderKey,
    status: delivery.status,
    attempts: delivery.attempts,
    createdAtMs: BigInt(delivery.createdAtMs),
    nextAttemptAtMs: BigInt(delivery.status === 'pending' ? delivery.nextAttemptAtMs : 0),
    deliveredAtMs: BigInt(delivery.deliveredAtMs),
    lastOutcome: delivery.lastOutcome,
    host: host ?? delivery.recentAttempts.at(-1)?.host ?? '',
  };
}

export function toAttemptMessage(attempt: AttemptRecord): MessageInitShape<typeof AttemptSchema> {
  const { atMs, durationMs, statusCode, error, host = '' } = attempt;
  return { atMs: BigInt(atMs), durationMs, statusCode, error, host };
}
