import type { Handlers } from '@headset-cloud/kit/rpc/types.ts';
import type { DeliveryService } from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import type { DeliveryDeps } from './local-or-forward.ts';

/** Session epochs of those of the headsets that are online. */
export function getPresence(deps: DeliveryDeps): Handlers<typeof DeliveryService>['getPresence'] {
  return async ({ deviceIds }) => {
    const sessionEpochs: Record<string, bigint> = {};
    const elsewhere: string[] = [];
    for (const deviceId of deviceIds) {
      const session = deps.hub.get(deviceId);
      if (session) sessionEpochs[deviceId] = BigInt(session.epoch);
      else elsewhere.push(deviceId);
    }
    if (elsewhere.length === 0) return { sessionEpochs };
    const asked =
      elsewhere.length === 1
        ? new Map([[elsewhere[0] as string, await deps.directory.holder(elsewhere[0] as string)]])
        : await deps.directory.holders(elsewhere);
    for (const [deviceId, holder] of asked) {
      // What the store says of this instance is older than what it knows itself.
      if (holder && holder.instanceId !== deps.instanceId) {
        sessionEpochs[deviceId] = BigInt(holder.epoch);
      }
    }
    return { sessionEpochs };
  };
}
