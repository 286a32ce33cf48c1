import type { Handlers } from '@headset-cloud/kit/rpc/types.ts';
import type { DeliveryService } from '@headset-cloud/proto/headset/device_link/v1/delivery_pb.ts';
import { type DeliveryDeps, localOrForward } from './local-or-forward.ts';

/** Hands offers to the headset's session and answers its epoch; 0 when the headset is away. */
export function deliver(deps: DeliveryDeps): Handlers<typeof DeliveryService>['deliver'] {
  return async ({ deviceId, offers, forwarded }) => ({
    sessionEpoch: await localOrForward(
      deps,
      { deviceId, forwarded },
      {
        here: (session) => (session.deliver(offers) ? BigInt(session.epoch) : undefined),
        there: async (peer) => (await peer.deliver({ deviceId, offers, forwarded: true })).sessionEpoch,
        away: 0n,
      },
    ),
  });
}
