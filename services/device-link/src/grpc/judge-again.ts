import type { DeliveryService } from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { type DeliveryDeps, localOrForward } from './local-or-forward.ts';

/**
 * Starts another reconciliation of a headset's session, if the session still has the given epoch. Does not wait until
 * the reconciliation has ended. Throws `unavailable` or `deadline_exceeded` if the instance with the session does not
 * answer.
 */
export function judgeAgain(deps: DeliveryDeps): Handlers<typeof DeliveryService>['judgeAgain'] {
  return async ({ deviceId, sessionEpoch, forwarded }) => {
    const epoch = Number(sessionEpoch);
    const reached = await localOrForward(
      deps,
      { deviceId, forwardedForEpoch: forwarded ? epoch : undefined },
      (session) => {
        if (session.epoch === epoch) session.hasMore();
        return true;
      },
    );
    if (typeof reached === 'object' && 'peer' in reached && reached.sessionEpoch === epoch) {
      await deps.peers.at(reached.peer).judgeAgain({ deviceId, sessionEpoch, forwarded: true });
    }
    return {};
  };
}
