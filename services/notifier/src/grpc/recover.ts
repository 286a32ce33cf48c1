import { randomUUID } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { DeliveriesService, RecoverySchema } from '@headset-cloud/proto/notifier/v1/deliveries_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { Idempotency } from '@headset-cloud/rules/idempotency.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { destinationSettings } from '../domain/delivery.ts';
import type { Recoveries } from '../own/recoveries.ts';
import type { Recovery } from '../ports/recovery-store.ts';

/** Sends many deliveries again, or counts them. A repeat with the same Idempotency-Key returns the same recovery. */
export function recoverDeliveries(
  recoveries: Pick<Recoveries, 'count' | 'recover'>,
  idempotency: Idempotency,
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
      ...{ applicationId, sinceMs: Number(sinceMs), destination: setting, delivered },
      filter: { types, deviceId },
    };
    if (dryRun) return { count: await recoveries.count(request) };
    const recovery = await idempotency.run(caller, {
      draw: async () => `recovery-${randomUUID()}`,
      work: async (recoveryId) => ({ ...(await recoveries.recover({ ...request, recoveryId })) }),
    });
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
