import { type ChangeActivatedRequest, changeActivated } from './change-activated.ts';
import type { ActivationDependencies } from './dependencies.ts';

/**
 * Deactivates a device at once (rule C13); resolves when its slot is free and its transaction
 * exists. The epoch rises: a command that still carries the ended activation's is refused by
 * transactions from then on, and a headset ignores what belongs to it (rule A7).
 *
 * Throws the refusals of the API, and `conflict` when a later change of the device came first.
 */
export function deactivateDevice(
  deps: ActivationDependencies,
  request: ChangeActivatedRequest,
): Promise<void> {
  return changeActivated(deps, request, async (activation, { slot }) => {
    await deps.devices.deactivate(request.deviceId, request.transactionId, activation, slot);
    deps.failpoints('devices.deactivated');
  });
}
