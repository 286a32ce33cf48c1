import type { Handlers } from '@headset-cloud/kit/rpc/types.ts';
import type { DeliveryJudgeService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { toOffer } from '../delivery/delivery.ts';
import { readOffers } from '../delivery/offers.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Offers that one question may ask for. */
const mostOffersRead = 64;

/** Offers that `headsetOnline` answered without their operation. */
export function readOffersHandler({
  store,
}: HandlerDependencies): Handlers<typeof DeliveryJudgeService>['readOffers'] {
  return async ({ deviceId, transactionIds }) => {
    const ids = transactionIds.slice(0, mostOffersRead).map(Number);
    const offers = await readOffers(
      store,
      ids.map((id) => ({ id, attempts: 0 })),
      true,
    );
    // From the first one that did not go into the answer on, all are asked for again.
    const left = offers.find((o) => !o.transaction);
    return {
      offers: offers.flatMap(({ transaction: t }) => (t?.deviceId === deviceId ? [toOffer(t)] : [])),
      answered: left ? ids.indexOf(left.id) : ids.length,
    };
  };
}
