import { DomainError } from '@headset-cloud/kit/errors.ts';
import { type Return, returnOutcome, type Take, takeOutcome } from '../domain/slots.ts';
import type { ActivationDependencies } from './dependencies.ts';

type SlotDependencies = Pick<ActivationDependencies, 'devices' | 'contracts' | 'failpoints'>;

/**
 * Completes a take according to the device's document. Any number of callers may do so at any time (ADR
 * 0011).
 */
export async function settleTake(
  { devices, contracts }: SlotDependencies,
  applicationId: string,
  take: Take,
): Promise<'confirmed' | 'open' | 'refunded' | 'gone'> {
  switch (takeOutcome(await devices.find(take.deviceId), take)) {
    case 'confirm':
      await contracts.confirm(applicationId, take.id);
      return 'confirmed';
    case 'open':
      return 'open';
    case 'refund':
      return (await contracts.refund(applicationId, take.id)) ? 'refunded' : 'gone';
  }
}

/**
 * Completes a return: the device gives its slot back once, and only the return that it used frees the slot.
 * Any number of callers may do so at any time. False: the outcome is not known yet.
 */
export async function settleReturn(
  { devices, contracts, failpoints }: SlotDependencies,
  applicationId: string,
  entry: Return,
): Promise<boolean> {
  let outcome = returnOutcome(await devices.find(entry.deviceId), entry);
  if (outcome === 'give') {
    await devices.giveBack(entry.deviceId, entry.slotId, entry.id);
    failpoints('devices.given-back');
    outcome = returnOutcome(await devices.find(entry.deviceId), entry);
  }
  if (outcome === 'give') return false;
  if (outcome === 'finish') await contracts.finishReturn(applicationId, entry.id);
  else await contracts.cancelReturn(applicationId, entry.id);
  return true;
}

/**
 * Frees the slot of a deactivation; resolves when it is free. Many calls, even concurrent ones, free it
 * exactly once. Throws `unavailable` while that is not possible.
 */
export async function returnSlot(
  deps: ActivationDependencies,
  applicationId: string,
  deviceId: string,
  slotId: string,
): Promise<void> {
  const device = await deps.devices.find(deviceId);
  if (device?.slot?.id === slotId) {
    const entry = { id: deps.newId(), deviceId, slotId, atMs: deps.clock.now() };
    const begun = await deps.contracts.beginReturn(applicationId, entry);
    deps.failpoints('devices.returning');
    if (!begun || !(await settleReturn(deps, applicationId, entry))) throw laterReturn();
  }
  // Another call gave the slot back, and its return may still be pending.
  const { slot, returned } = (await deps.devices.find(deviceId)) ?? {};
  if (slot?.id === slotId) throw laterReturn();
  if (returned?.slotId === slotId) await deps.contracts.finishReturn(applicationId, returned.id);
}

const laterReturn = () =>
  new DomainError('unavailable', 'Too many activations and deactivations of the contract are under way.', {
    retryAfterMs: 1000,
  });
