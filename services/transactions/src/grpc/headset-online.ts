import type { DeliveryJudgeService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { toOffer } from '../delivery/delivery.ts';
import { takeOnline } from '../delivery/online.ts';
import { heldOf } from '../domain/held.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Judges a session that has begun, or judges it again: returns what to offer, start, revoke and drop. */
export function headsetOnlineHandler(
  deps: HandlerDependencies,
): Handlers<typeof DeliveryJudgeService>['headsetOnline'] {
  return async (request) => {
    const { offers, starts, revocations, drops, through } = await takeOnline(deps, {
      deviceId: request.deviceId,
      epoch: Number(request.sessionEpoch),
      held: heldOf(request.held),
      again: request.again,
      readsOffers: request.readsOffers,
      knowsRevoke: request.knowsRevoke,
      afterUnresponsive: request.afterUnresponsive,
    });
    return {
      offers: offers.map(({ id, attempt, transaction }) =>
        transaction ? toOffer(transaction, attempt) : { transactionId: BigInt(id), attempt },
      ),
      startTransactionIds: starts.map(BigInt),
      revocations: revocations.map(({ id, message }) => ({ transactionId: BigInt(id), reason: message })),
      dropTransactionIds: drops.map(BigInt),
      judgedThroughId: BigInt(through),
    };
  };
}
