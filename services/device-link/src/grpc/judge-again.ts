import type { DeliveryService } from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { type DeliveryDeps, localOrForward } from './local-or-forward.ts';

/**
 * Has a headset's session judged again, if it is still that one. Answers before it is judged. Throws
 * `unavailable` or `deadline_exceeded` when the instance that holds the session does not answer.
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
