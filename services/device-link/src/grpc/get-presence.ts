import type { DeliveryService } from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { DeliveryDeps } from './local-or-forward.ts';

/** Returns the session epochs of the headsets that are online. */
export function getPresence(deps: DeliveryDeps): Handlers<typeof DeliveryService>['getPresence'] {
  const { hub, directory } = deps;
  return async ({ deviceIds }) => {
    const sessionEpochs: Record<string, bigint> = {};
    const toLookUp: string[] = [];
    for (const deviceId of deviceIds) {
      const session = deps.isOnlyInstance() ? hub.get(deviceId) : undefined;
      if (session) sessionEpochs[deviceId] = BigInt(session.epoch);
      else toLookUp.push(deviceId);
    }
    if (toLookUp.length === 0) return { sessionEpochs };
    const holders =
      toLookUp.length === 1
        ? new Map([[toLookUp[0] as string, await directory.holder(toLookUp[0] as string)]])
        : await directory.holders(toLookUp);
    for (const [deviceId, holder] of holders) {
      if (!holder) continue;
      // For a session of this instance the hub decides, because the directory may be out of date.
      const isHere = holder.instanceId === directory.instanceId;
      const session = isHere ? hub.get(deviceId) : undefined;
      if (!isHere) sessionEpochs[deviceId] = BigInt(holder.epoch);
      else if (session && session.epoch >= holder.epoch) sessionEpochs[deviceId] = BigInt(session.epoch);
    }
    return { sessionEpochs };
  };
}
