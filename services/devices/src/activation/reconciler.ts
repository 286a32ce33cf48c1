import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import type { DeviceState } from '../domain/device.ts';
import type { ActivationStore, ContractStore, DeviceReader } from '../ports.ts';

export interface ReconcilerDependencies {
  readonly contracts: ContractStore;
  readonly devices: ActivationStore;
  readonly reader: DeviceReader;
  readonly clock: Clock;
  readonly logger: Logger;
}

const contractsAtOnce = 10;
const devicesAtOnce = 500;

/**
 * Recounts contracts that are due: frees slots that no device vouches for, gives one to a device
 * that is activated without (ruling B8). Answers how many slots were wrong.
 */
export async function reconcileContracts(
  deps: ReconcilerDependencies,
  options: { intervalMs: number; graceMs: number },
): Promise<number> {
  const nowMs = deps.clock.now();
  const due = await deps.contracts.claimUnchecked(nowMs, nowMs + options.intervalMs, contractsAtOnce);
  let repaired = 0;
  for (const applicationId of due) repaired += await reconcile(deps, applicationId, options.graceMs);
  return repaired;
}

async function reconcile(
  deps: ReconcilerDependencies,
  applicationId: string,
  graceMs: number,
): Promise<number> {
  const { contracts, devices, reader, clock, logger } = deps;
  const activated = new Set<string>();
  for (let after = ''; ; ) {
    const page = await reader.activatedBy(applicationId, after, devicesAtOnce);
    for (const { deviceId } of page) activated.add(deviceId);
    if (page.length < devicesAtOnce) break;
    after = page.at(-1)?.deviceId ?? '';
  }
  // Read after the devices: a slot is taken before its device is activated.
  const slots = await contracts.slots(applicationId);
  let repaired = 0;
  for (const slot of slots) {
    if (activated.delete(slot.deviceId)) continue;
    if (slot.takenAtMs > clock.now() - graceMs) {
      // Its activation is under way, or was cut short just now.
      await contracts.checkBefore(applicationId, slot.takenAtMs + graceMs + 1);
      continue;
    }
    if (vouches(await devices.find(slot.deviceId), applicationId, slot.slotId)) continue;
    if (!(await contracts.freeSlot(applicationId, slot))) continue;
    logger.warn({ applicationId, deviceId: slot.deviceId }, 'freed a slot that no device used');
    repaired += 1;
  }
  for (const deviceId of activated) {
    const { activation } = (await devices.find(deviceId)) ?? {};
    if (activation?.applicationId !== applicationId) continue;
    const slot = { deviceId, slotId: activation.slotId, takenAtMs: clock.now() };
    if (!(await contracts.grantSlot(applicationId, slot))) continue;
    logger.error({ applicationId, deviceId }, 'a device was activated without a slot');
    repaired += 1;
  }
  return repaired;
}

/** A device stands for its slot from its intent until the release is done. */
function vouches(device: DeviceState | undefined, applicationId: string, slotId: number): boolean {
  if (!device) return false;
  return (
    (device.activation?.applicationId === applicationId && device.activation.slotId === slotId) ||
    (device.intent?.applicationId === applicationId && device.intent.transactionId === slotId) ||
    device.pending.some(
      (p) =>
        (p.kind === 'deactivate' || p.kind === 'release') &&
        p.applicationId === applicationId &&
        p.slotId === slotId,
    )
  );
}
