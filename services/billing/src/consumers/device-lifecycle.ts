import { decodeEvent } from '@headset-cloud/eventlog/decode.ts';
import { type LogEvent, PoisonEventError } from '@headset-cloud/eventlog/types.ts';
import { DeviceLifecycleEventSchema, LifecycleKind } from '@headset-cloud/proto/devices/v1/events_pb.ts';
import type { LifecycleChange } from '../domain/activity.ts';
import { requireApplicationId, requireDeviceId } from '../domain/ids.ts';
import type { ActivityStore } from '../ports.ts';

/** The consumer group: each change reaches this service once, or again after a crash. */
export const deviceLifecycleGroup = 'billing-lifecycle';

/** Stores activations and deactivations of devices by applications. Idempotent. The order of events does not matter. */
export function deviceLifecycleHandler(
  store: Pick<ActivityStore, 'record'>,
): (events: readonly LogEvent[]) => Promise<void> {
  return async (events) => {
    await store.record(events.map(decode));
  };
}

const kinds = new Map<LifecycleKind, LifecycleChange['kind']>([
  [LifecycleKind.ACTIVATED, 'activated'],
  [LifecycleKind.DEACTIVATED, 'deactivated'],
]);

function decode(event: LogEvent): LifecycleChange {
  const message = decodeEvent(DeviceLifecycleEventSchema, event);
  try {
    const { applicationId, deviceId, epoch, kind: messageKind, atMs, undone } = message;
    const kind = kinds.get(messageKind);
    if (!kind) throw new Error(`kind ${messageKind} is not known`);
    return {
      applicationId: requireApplicationId(applicationId),
      deviceId: requireDeviceId(deviceId),
      epoch: toSafeInteger(epoch),
      kind,
      atMs: toSafeInteger(atMs),
      ...(undone && { undone }),
    };
  } catch (cause) {
    throw new PoisonEventError(event, `not a change of an activation: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** Throws if the value is negative or beyond the safe integers. */
function toSafeInteger(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`${value} is out of bounds`);
  return number;
}
