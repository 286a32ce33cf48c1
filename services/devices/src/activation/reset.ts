import { type ChangeActivatedRequest, changeActivated } from './change-activated.ts';
import type { ActivationDependencies } from './dependencies.ts';

/**
 * Resets a device (specification API 4 and 7, rule C13); resolves when its transaction exists. The activation continues
 * at the next activation epoch (rule A7). The reset's transaction cancels all earlier unprocessed transactions, and
 * later operations carry the new epoch.
 *
 * Throws the API's errors, and `conflict` when a later change of the device came first.
 */
export function resetDevice(deps: ActivationDependencies, request: ChangeActivatedRequest): Promise<void> {
  return changeActivated(deps, request, async (activation) => {
    await deps.devices.reset(request.deviceId, request.transactionId, activation, request.record);
  });
}
