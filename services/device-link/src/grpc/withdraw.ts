import type { DeliveryService } from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { type DeliveryDeps, localOrForward } from './local-or-forward.ts';

/**
 * Tells the headset's session to forget canceled transactions; nothing happens when it is away. Throws
 * `unavailable` or `deadline_exceeded` when the instance that holds it does not answer.
 */
export function withdraw(deps: DeliveryDeps): Handlers<typeof DeliveryService>['withdraw'] {
  return async ({ deviceId, transactionIds, reason, forwarded, sessionEpoch }) => {
    const forwardedForEpoch = forwarded ? Number(sessionEpoch) : undefined;
    const reached = await localOrForward(deps, { deviceId, forwardedForEpoch }, (session) => {
      session.withdraw(transactionIds.map(Number), reason);
      return true;
    });
    if (typeof reached === 'object' && 'peer' in reached) {
      await deps.peers.at(reached.peer).withdraw({
        deviceId,
        transactionIds,
        reason,
        forwarded: true,
        sessionEpoch: BigInt(reached.sessionEpoch),
      });
    }
    return {};
  };
}
