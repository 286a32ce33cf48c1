import type { MessageInitShape } from '@bufbuild/protobuf';
import type { OwnAttemptSchema, OwnDeliverySchema } from '@headset-cloud/proto/notifier/v1/deliveries_pb.ts';
import { attemptReasons, reasonOf } from '../domain/attempt-reason.ts';
import type { AttemptRecord, Delivery } from '../domain/delivery.ts';
import { subjectOf } from '../domain/event.ts';

/** Ids of a transaction's callbacks contain the transaction's id (ADR 0006). */
const ofTransaction = /^tx-(\d{1,16})-/;

export function toOwnDelivery(delivery: Delivery): MessageInitShape<typeof OwnDeliverySchema> {
  const { id, destination, status, createdAtMs, attempts, nextAttemptAtMs, dueAtMs, recentAttempts } =
    delivery;
  const last = recentAttempts.at(-1);
  const isPending = status === 'pending';
  return {
    ...{ deliveryId: id, destination, state: status, attempts, ...subjectOf(delivery) },
    transactionId: BigInt(ofTransaction.exec(id)?.[1] ?? 0),
    createdAtMs: BigInt(createdAtMs),
    nextAttemptAtMs: BigInt(isPending ? nextAttemptAtMs : 0),
    endedAtMs: BigInt(isPending ? 0 : dueAtMs),
    ...(last && { lastAttempt: toOwnAttempt(last) }),
  };
}

/** Encodes an attempt without texts of errors, which may contain internals of the platform. */
export function toOwnAttempt(attempt: AttemptRecord): MessageInitShape<typeof OwnAttemptSchema> {
  const { atMs, durationMs, statusCode, host = '', answer = '' } = attempt;
  const reason = reasonOf(attempt);
  return {
    ...{ atMs: BigInt(atMs), durationMs, statusCode, host, answer },
    ...{ reason: reason ?? '', message: reason ? attemptReasons[reason] : '' },
  };
}
