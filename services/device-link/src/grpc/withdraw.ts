import type { Handlers } from '@headset-cloud/kit/rpc/types.ts';
import type { DeliveryService } from '@headset-cloud/proto/headset/device_link/v1/delivery_pb.ts';
import { type DeliveryDeps, localOrForward } from './local-or-forward.ts';

/** Tells the headset's session to forget canceled transactions; nothing happens when it is away. */
export function withdraw(deps: DeliveryDeps): Handlers<typeof DeliveryService>['withdraw'] {
  return async ({ deviceId, transactionIds, reason, forwarded }) => {
    await localOrForward<true>(
      deps,
      { deviceId, forwarded },
      {
        here: (session) => {
          session.withdraw(transactionIds.map(Number), reason);
          return true;
        },
        there: async (peer) => {
          await peer.withdraw({ deviceId, transactionIds, reason, forwarded: true });
          return true;
        },
        away: true,
      },
    );
    return {};
  };
}
