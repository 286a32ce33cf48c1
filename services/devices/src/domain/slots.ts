import type { DeviceState } from './device.ts';

/**
 * Slots of a contract (ADR 0011). The contract's document counts free ones; which device has which
 * slot stands in the device's document. What is on its way from one to the other stands in the
 * contract's document as an entry with an id of its own, written once by the call that drew it.
 */

/** A slot that a device has. */
export interface Slot {
  readonly applicationId: string;
  /** The id of the take that counted it. */
  readonly id: string;
}

/** A slot that is counted as taken for a device that does not have it yet. */
export interface Take {
  readonly id: string;
  readonly deviceId: string;
  /** The device's intent that may turn it into the device's slot. */
  readonly intentId: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** A slot that a device is about to give back, still counted as taken. */
export interface Return {
  readonly id: string;
  readonly deviceId: string;
  readonly slotId: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** A contract's count, and what is on its way. */
export interface SlotCount {
  readonly activationLimit: number;
  /** Below 0 after the limit was lowered under the slots in use. */
  readonly freeSlots: number;
  readonly takes: readonly Take[];
  readonly returns: readonly Return[];
  /** Rises with every change of the above. */
  readonly changes: number;
  /** When to recount; milliseconds since 1970. */
  readonly recountAtMs: number;
}

type Holder = Pick<DeviceState, 'slot' | 'intent' | 'returned'>;

/**
 * What becomes of a take, from the device read after it: it is the device's slot, it can still become
 * so, or it never will. (Before a device gives a slot back, its take is gone: `refund` then finds none.)
 */
export function takeOutcome(device: Holder | undefined, take: Take): 'confirm' | 'open' | 'refund' {
  if (device?.slot?.id === take.id) return 'confirm';
  return device?.intent?.id === take.intentId ? 'open' : 'refund';
}

/**
 * What becomes of a return, from the device read after it: the device still has the slot, it gave it
 * back with this return, or with another one.
 */
export function returnOutcome(device: Holder | undefined, entry: Return): 'give' | 'finish' | 'cancel' {
  if (device?.slot?.id === entry.slotId) return 'give';
  return device?.returned?.id === entry.id ? 'finish' : 'cancel';
}
