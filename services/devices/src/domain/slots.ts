import type { DeviceState } from './device.ts';

/**
 * Slots of a contract (ADR 0011). The contract's document counts the free ones; a device's document holds
 * the device's slot. A slot that is moving between the two is an entry (a take or a return) in the
 * contract's document, with its own id, written once by the call that drew the id.
 */

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

/** A contract's count of free slots, and its pending takes and returns. */
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
 * The outcome of a take, by the device read after it: it is the device's slot (`confirm`), it can still
 * become that (`open`), or it never will (`refund`). A take is removed before its device gives the slot
 * back, so a late `refund` finds none.
 */
export function takeOutcome(device: Holder | undefined, take: Take): 'confirm' | 'open' | 'refund' {
  if (device?.slot?.id === take.id) return 'confirm';
  return device?.intent?.id === take.intentId ? 'open' : 'refund';
}

/**
 * The outcome of a return, by the device read after it: the device still has the slot (`give`), gave it
 * back with this return (`finish`), or with another one (`cancel`).
 */
export function returnOutcome(device: Holder | undefined, entry: Return): 'give' | 'finish' | 'cancel' {
  if (device?.slot?.id === entry.slotId) return 'give';
  return device?.returned?.id === entry.id ? 'finish' : 'cancel';
}
