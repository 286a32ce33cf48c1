import { type ChangeActivatedRequest, changeActivated } from './change-activated.ts';
import type { ActivationDependencies } from './dependencies.ts';

/**
 * Resets a device (specification API 4 and 7, rule C13); resolves when its transaction exists. The
 * activation stays, at the next activation epoch (rule A7): the reset's transaction cancels all earlier
 * unprocessed ones, and later operations carry the new epoch.
 *
 * Throws the refusals of the API, and `conflict` when a later change of the device came first.
 */
export function resetDevice(deps: ActivationDependencies, request: ChangeActivatedRequest): Promise<void> {
  return changeActivated(deps, request, async (activation) => {
    await deps.devices.reset(request.deviceId, request.transactionId, activation, request.record);
  });
}
