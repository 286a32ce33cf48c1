import type { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { Floor } from '../ports/heads.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Cancels what belongs to an activation that was undone, as a deactivation does (ADR 0063). */
export function endActivationHandler({
  store,
  canceler,
  clock,
}: HandlerDependencies): Handlers<typeof TransactionsService>['endActivation'] {
  return async ({ deviceId, activationEpoch }) => {
    const floor: Floor = { epoch: Number(activationEpoch), reason: 'deactivation' };
    await store.raiseFloor(deviceId, floor, clock.now());
    await canceler.cancelBelowFloor(deviceId, floor);
    return {};
  };
}
