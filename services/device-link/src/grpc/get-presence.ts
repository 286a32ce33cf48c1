import type { DeliveryService } from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { DeliveryDeps } from './local-or-forward.ts';

/** Returns the session epochs of the headsets that are online. */
export function getPresence(deps: DeliveryDeps): Handlers<typeof DeliveryService>['getPresence'] {
  const { hub, directory } = deps;
  return async ({ deviceIds }) => {
    const sessionEpochs: Record<string, bigint> = {};
    const asked: string[] = [];
    for (const deviceId of deviceIds) {
      const session = deps.alone() ? hub.get(deviceId) : undefined;
      if (session) sessionEpochs[deviceId] = BigInt(session.epoch);
      else asked.push(deviceId);
    }
    if (asked.length === 0) return { sessionEpochs };
    const holders =
      asked.length === 1
        ? new Map([[asked[0] as string, await directory.holder(asked[0] as string)]])
        : await directory.holders(asked);
    for (const [deviceId, holder] of holders) {
      if (!holder) continue;
      // The directory's data about this instance may be older than the instance's own.
      const here = holder.instanceId === directory.instanceId;
      const session = here ? hub.get(deviceId) : undefined;
      if (!here) sessionEpochs[deviceId] = BigInt(holder.epoch);
      else if (session && session.epoch >= holder.epoch) sessionEpochs[deviceId] = BigInt(session.epoch);
    }
    return { sessionEpochs };
  };
}
