import type { DeliveryJudgeService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { toOffer } from '../dispatch/dispatcher.ts';
import { reconcileSession } from '../dispatch/online.ts';
import { heldOf } from '../domain/held.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Reconciles a session when it starts, or again later: returns the transactions to offer, start, revoke and drop. */
export function headsetOnlineHandler(
  deps: HandlerDependencies,
): Handlers<typeof DeliveryJudgeService>['headsetOnline'] {
  return async (request) => {
    const { offers, starts, revocations, drops, through } = await reconcileSession(deps, {
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
