import { type ChangeActivatedRequest, changeActivated } from './change-activated.ts';
import type { ActivationDependencies } from './dependencies.ts';

/**
 * Deactivates a device at once (rule C13); resolves when its transaction exists. The slot is free with the
 * same update. The activation epoch rises: from then on transactions refuses a command with the epoch of the ended
 * activation, and a headset ignores transactions of that epoch (rule A7).
 *
 * Throws the refusals of the API, and `conflict` when a later change of the device came first.
 */
export function deactivateDevice(
  deps: ActivationDependencies,
  request: ChangeActivatedRequest,
): Promise<void> {
  return changeActivated(deps, request, async (activation) => {
    const { deviceId, transactionId, record } = request;
    await deps.devices.deactivate(deviceId, transactionId, activation, record);
  });
}
