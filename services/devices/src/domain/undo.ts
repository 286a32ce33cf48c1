import type { Activation, DeviceState } from './device.ts';

/**
 * Effect of the cancellation of an activation's transaction (ADR 0063):
 * - `none`: the activation has ended, was followed by a reset, or is no longer remembered: nothing changes;
 * - `replace`: the device stays activated, with `next`. If the canceled activation is the current one, the activation
 *   that it replaced is restored. If it was replaced itself, it is removed from `earlier`;
 * - `end`: the canceled activation replaced no other activation: the device is deactivated.
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
    const remaining = earlier.filter((one) => one.transactionId !== transactionId);
    if (remaining.length === earlier.length) return { kind: 'none' };
    return { kind: 'replace', present, next: { ...present, earlier: remaining } };
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

/** The activation after a repeated activation by the same application, with the new client id and secret. */
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
 * The transaction whose cancellation undoes the current activation. After a reset, the function returns the reset's
 * transaction. Its cancellation does not undo an activation.
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
