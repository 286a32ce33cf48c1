import { createHash, randomUUID } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import type { Handlers } from '@headset-cloud/kit/rpc/types.ts';
import type { Caller } from '@headset-cloud/proto/common/v1/common_pb.ts';
import type { DeliveriesService, RecoverySchema } from '@headset-cloud/proto/notifier/v1/deliveries_pb.ts';
import { destinationSettings } from '../domain/delivery.ts';
import type { Recoveries } from '../own/recoveries.ts';
import type { Recovery } from '../ports.ts';

/** Sends many deliveries again, or counts them. A repeat with the same Idempotency-Key answers the same recovery. */
export function recoverDeliveries(
  recoveries: Pick<Recoveries, 'count' | 'recover'>,
): Handlers<typeof DeliveriesService>['recover'] {
  return async ({ caller, sinceMs, destination, types, deviceId, delivered, dryRun }) => {
    const applicationId = caller?.applicationId ?? '';
    if (applicationId === '') throw new DomainError('invalid_argument', 'application_id is missing.');
    const setting = destinationSettings.find((one) => one === destination);
    if (destination !== '' && !setting) {
      throw new DomainError(
        'invalid_argument',
        `destination is not one of ${destinationSettings.join(', ')}.`,
      );
    }
    const request = {
      ...{
        applicationId,
        recoveryId: idOf(caller),
        sinceMs: Number(sinceMs),
        destination: setting,
        delivered,
      },
      filter: { types, deviceId },
    };
    if (dryRun) return { count: await recoveries.count(request) };
    const recovery = await recoveries.recover(request);
    return { count: recovery.total, recovery: toMessage(recovery) };
  };
}

export function readRecovery(
  recoveries: Pick<Recoveries, 'get'>,
): Handlers<typeof DeliveriesService>['readRecovery'] {
  return async ({ applicationId, recoveryId }) => ({
    recovery: toMessage(await recoveries.get(applicationId, recoveryId)),
  });
}

function toMessage({
  recoveryId,
  total,
  next,
  beganAtMs,
  endedAtMs,
}: Recovery): MessageInitShape<typeof RecoverySchema> {
  return { recoveryId, total, done: next, beganAtMs: BigInt(beganAtMs), endedAtMs: BigInt(endedAtMs) };
}

function idOf(caller: Caller | undefined): string {
  const { idempotency, clientId = '' } = caller ?? {};
  if (!idempotency) return `recovery-${randomUUID()}`;
  const { method, path, key, bodySha256 } = idempotency;
  const text = JSON.stringify([clientId, method, path, key, Buffer.from(bodySha256).toString('hex')]);
  return `recovery-${createHash('sha256').update(text).digest('base64url')}`;
}
