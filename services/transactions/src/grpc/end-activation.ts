import type { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { MinimumEpoch } from '../ports/device-counters.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Cancels the transactions of an undone activation, as a deactivation does (ADR 0063). */
export function endActivationHandler({
  store,
  canceler,
  clock,
}: HandlerDependencies): Handlers<typeof TransactionsService>['endActivation'] {
  return async ({ deviceId, activationEpoch }) => {
    const minimumEpoch: MinimumEpoch = { epoch: Number(activationEpoch), reason: 'deactivation' };
    await store.advanceMinimumEpoch(deviceId, minimumEpoch, clock.now());
    await canceler.cancelBelowMinimumEpoch(deviceId, minimumEpoch);
    return {};
  };
}
