import { create, toBinary } from '@bufbuild/protobuf';
import { type EventLog, type OutgoingEvent, topics } from '@headset-cloud/eventlog/types.ts';
import { DeviceLifecycleEventSchema, LifecycleKind } from '@headset-cloud/proto/devices/v1/events_pb.ts';
import { coalesce } from '@headset-cloud/runtime/batching/coalesce.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { LifecycleChange } from '../domain/device.ts';
import type { ActivationStore } from '../ports/activation-store.ts';

/**
 * Publishes lifecycle events (activations and deactivations that have taken effect) to the log. The update that
 * activates or deactivates a device also stores the event in the device's document. After a crash or an outage the
 * sweeper publishes the stored events (rule C3). No call waits for the log.
 */
export interface LifecycleEvents {
  /**
   * Publishes the device's pending events; resolves when the log has stored them and they are removed from the
   * document.
   */
  publish(deviceId: string): Promise<void>;
  /** Like `publish`, but returns at once. After a failure the sweeper publishes the events. */
  publishInBackground(deviceId: string): void;
  /** Waits until all started publishes have ended. */
  drain(): Promise<void>;
}

const kinds = {
  activated: LifecycleKind.ACTIVATED,
  deactivated: LifecycleKind.DEACTIVATED,
} as const;

export function createLifecycleEvents(deps: {
  devices: Pick<ActivationStore, 'pendingLifecycle' | 'clearLifecycle'>;
  log: Pick<EventLog, 'publish'>;
  logger: Logger;
}): LifecycleEvents {
  const { devices, log, logger } = deps;
  const inProgress = new Set<Promise<void>>();

  // One batch at a time, so that a device's events cannot overtake each other.
  const publish = coalesce<string, void>({
    maxRunning: 1,
    maxItems: 200,
    async run(deviceIds) {
      const pending = await devices.pendingLifecycle([...new Set(deviceIds)]);
      const events = pending.flatMap(({ deviceId, changes }) => changes.map((one) => event(deviceId, one)));
      if (events.length > 0) {
        await log.publish(topics.deviceLifecycle, events);
        await devices.clearLifecycle(
          pending.map(({ deviceId, changes }) => ({ deviceId, epoch: changes.at(-1)?.epoch ?? 0 })),
        );
      }
      return deviceIds.map(() => ({ value: undefined }));
    },
  });

  return {
    publish,
    publishInBackground(deviceId) {
      const done = publish(deviceId).catch((error) =>
        logger.warn({ deviceId, err: error }, 'lifecycle event not published, the sweeper retries'),
      );
      inProgress.add(done);
      void done.finally(() => inProgress.delete(done));
    },
    async drain() {
      while (inProgress.size > 0) await Promise.all(inProgress);
    },
  };
}

function event(
  deviceId: string,
  { kind, applicationId, epoch, atMs, undone }: LifecycleChange,
): OutgoingEvent {
  const message = create(DeviceLifecycleEventSchema, {
    deviceId,
    applicationId,
    epoch: BigInt(epoch),
    kind: kinds[kind],
    atMs: BigInt(atMs),
    undone: undone === true,
  });
  return { key: deviceId, value: toBinary(DeviceLifecycleEventSchema, message) };
}
