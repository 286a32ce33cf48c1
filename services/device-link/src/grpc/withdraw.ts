import type { DeliveryService } from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { type DeliveryDeps, localOrForward } from './local-or-forward.ts';

/**
 * Drops canceled transactions in the headset's session, if there is one. Throws `unavailable` or `deadline_exceeded`
 * if the instance with the session does not answer.
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
