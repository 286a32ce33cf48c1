import { create, toBinary } from '@bufbuild/protobuf';
import { coalesce } from '@headset-cloud/kit/batching/coalesce.ts';
import { type EventLog, type OutgoingEvent, topics } from '@headset-cloud/kit/eventlog/types.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { DeviceLifecycleEventSchema, LifecycleKind } from '@headset-cloud/proto/devices/v1/events_pb.ts';
import type { LifecycleChange } from '../domain/device.ts';
import type { ActivationStore } from '../ports.ts';

/**
 * Publishes activations and deactivations that have taken effect to the log. The update that makes such a
 * change also stores its event in the device's document; the sweeper publishes events that a crash or an
 * outage left there (rule C3). No call waits for the log.
 */
export interface LifecycleEvents {
  /**
   * Publishes the events that the device owes; resolves when they are durable and removed from the
   * document.
   */
  publish(deviceId: string): Promise<void>;
  /** The same, but returns at once; after a failure the sweeper publishes them. */
  begin(deviceId: string): void;
  /** Waits for all started publishing. */
  drain(): Promise<void>;
}

const kinds = {
  activated: LifecycleKind.ACTIVATED,
  deactivated: LifecycleKind.DEACTIVATED,
} as const;

export function createLifecycleEvents(deps: {
  devices: Pick<ActivationStore, 'owedLifecycle' | 'clearLifecycle'>;
  log: Pick<EventLog, 'publish'>;
  logger: Logger;
}): LifecycleEvents {
  const { devices, log, logger } = deps;
  const begun = new Set<Promise<void>>();

  // One batch at a time, so that a device's events cannot overtake each other.
  const publish = coalesce<string, void>({
    maxRunning: 1,
    maxItems: 200,
    async run(deviceIds) {
      const owed = await devices.owedLifecycle([...new Set(deviceIds)]);
      const events = owed.flatMap(({ deviceId, changes }) => changes.map((one) => event(deviceId, one)));
      if (events.length > 0) {
        await log.publish(topics.deviceLifecycle, events);
        await devices.clearLifecycle(
          owed.map(({ deviceId, changes }) => ({ deviceId, epoch: changes.at(-1)?.epoch ?? 0 })),
        );
      }
      return deviceIds.map(() => ({ value: undefined }));
    },
  });

  return {
    publish,
    begin(deviceId) {
      const done = publish(deviceId).catch((error) =>
        logger.warn({ deviceId, err: error }, 'a lifecycle event is not published yet; the sweeper will try'),
      );
      begun.add(done);
      void done.finally(() => begun.delete(done));
    },
    async drain() {
      while (begun.size > 0) await Promise.all(begun);
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
