import type { Activation, DeviceState } from './device.ts';

/**
 * Effect of the cancellation of an activation's transaction (ADR 0063):
 * - `none`: the activation has ended, or a later change of the device has replaced it;
 * - `replace`: the device stays activated. If the canceled activation replaced an activation that is not canceled, that
 * activation is in force again. If the canceled activation was itself replaced, it can no longer be restored;
 * - `end`: no other activation remains: the device is deactivated.
 */
export type UndoStep =
  | { readonly kind: 'none' }
  | { readonly kind: 'replace'; readonly present: Activation; readonly next: Activation }
  | { readonly kind: 'end'; readonly present: Activation };

/** Maximum replaced activations that a device's document remembers. */
const rememberedActivations = 32;

/** The next step of undoing the activation of a canceled transaction, decided from the device's current state. */
export function nextUndoStep(device: DeviceState, transactionId: number): UndoStep {
  const { activation: present } = device;
  if (!present) return { kind: 'none' };
  const { earlier = [] } = present;
  if (activationTransaction(device) !== transactionId) {
    const left = earlier.filter((one) => one.transactionId !== transactionId);
    if (left.length === earlier.length) return { kind: 'none' };
    return { kind: 'replace', present, next: { ...present, earlier: left } };
  }
  const last = earlier.at(-1);
  if (!last) return { kind: 'end', present };
  const next = {
    ...withClient(present, last),
    earlier: earlier.slice(0, -1),
    restored: { transactionId: last.transactionId, after: device.lastTransactionId },
  };
  return { kind: 'replace', present, next };
}

/** The activation after the same application has activated again: client id and secret are replaced. */
export function repeatedActivation(
  device: DeviceState,
  present: Activation,
  client: Pick<Activation, 'clientId' | 'clientSecret'>,
): Activation {
  const { restored: _, earlier = [], ...kept } = present;
  const { clientId, clientSecret } = present;
  const replaced = {
    ...{ transactionId: activationTransaction(device), clientId },
    ...(clientSecret !== undefined && { clientSecret }),
  };
  const [oldest = replaced, ...others] = [...earlier, replaced];
  // The oldest activation is kept, because it is the most likely to have reached the headset.
  return { ...withClient(kept, client), earlier: [oldest, ...others.slice(1 - rememberedActivations)] };
}

/**
 * The transaction that the device's activation depends on. The activation stays while this transaction is not canceled.
 * After a reset it is the reset's transaction, which no cancellation of an activation names.
 */
function activationTransaction({ activation, lastTransactionId }: DeviceState): number {
  const restored = activation?.restored;
  return restored?.after === lastTransactionId ? restored.transactionId : lastTransactionId;
}

/** The activation with another client id and secret. */
export function withClient(
  { clientSecret: _, ...activation }: Activation,
  { clientId, clientSecret }: Pick<Activation, 'clientId' | 'clientSecret'>,
): Activation {
  return { ...activation, clientId, ...(clientSecret !== undefined && { clientSecret }) };
}
