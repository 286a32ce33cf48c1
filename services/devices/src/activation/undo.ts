import { refusals } from '../domain/refusals.ts';
import { nextUndoStep, withClient } from '../domain/undo.ts';
import { completePending } from './complete.ts';
import type { ActivationDependencies } from './dependencies.ts';

/** Maximum tries of one call. A try fails only if another change of the device came first. */
const maxTries = 20;

/**
 * Undoes an activation whose transaction was canceled (ADR 0063); resolves when the transactions of the activation are
 * canceled. The same update frees the slot. Each step is one conditional update of the device that was read. The device
 * is read again, whatever the outcome. Repeated calls have no further effect.
 *
 * Throws transient errors; a repeated call, or the sweeper, continues.
 */
export async function undoActivation(
  deps: ActivationDependencies,
  { deviceId, transactionId }: { readonly deviceId: string; readonly transactionId: number },
): Promise<void> {
  const { devices } = deps;
  for (let tries = 0; tries < maxTries; tries += 1) {
    const device = await devices.find(deviceId);
    const step = device && nextUndoStep(device, transactionId);
    if (!step || step.kind === 'none') {
      if (device?.undo) await completePending(deps, deviceId);
      return;
    }
    const { present } = step;
    if (step.kind === 'end') await devices.undo(device, present, transactionId);
    else if ((await devices.replace(device, step.next)) === 'taken') {
      // Another device uses the previous client id now, so the activation keeps the client id of the canceled one.
      await devices.replace(device, withClient(step.next, present));
    }
  }
  throw refusals.busy();
}
