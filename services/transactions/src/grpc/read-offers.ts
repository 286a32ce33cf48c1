import type { DeliveryJudgeService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { toOffer } from '../dispatch/dispatcher.ts';
import { readOffers } from '../dispatch/offers.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Maximum number of offers per request. */
const maxOffersRead = 64;

/** Reads offers that `headsetOnline` returned without their operation. */
export function readOffersHandler({
  store,
}: HandlerDependencies): Handlers<typeof DeliveryJudgeService>['readOffers'] {
  return async ({ deviceId, transactionIds }) => {
    const ids = transactionIds.slice(0, maxOffersRead).map(Number);
    const offers = await readOffers(
      store,
      ids.map((id) => ({ id, attempts: 0 })),
      true,
    );
    // The first offer that did not fit into the answer, and all later ones, are requested again.
    const firstUnread = offers.find((o) => !o.transaction);
    return {
      offers: offers.flatMap(({ transaction: t }) => (t?.deviceId === deviceId ? [toOffer(t)] : [])),
      answered: firstUnread ? ids.indexOf(firstUnread.id) : ids.length,
    };
  };
}
