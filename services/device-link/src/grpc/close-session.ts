import type { DeliveryService } from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { SessionHub } from '../presence/hub.ts';

/** Closes an older session of a headset that has connected to another instance. */
export function closeSession(hub: SessionHub): Handlers<typeof DeliveryService>['closeSession'] {
  return async ({ deviceId, belowEpoch }) => {
    hub.closeBelow(deviceId, Number(belowEpoch));
    return {};
  };
}
