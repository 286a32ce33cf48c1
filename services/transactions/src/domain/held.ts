import { HeldState, type HeldTransaction } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Held, HeldAs } from './online.ts';

const states: Partial<Record<HeldState, HeldAs>> = {
  [HeldState.STARTED]: 'started',
  [HeldState.FINISHED]: 'finished',
};

/** Decodes the transactions that a headset holds; an unknown state counts as 'offered'. */
export function heldOf(held: readonly HeldTransaction[]): Held {
  return new Map(held.map((h) => [Number(h.transactionId), states[h.state] ?? 'offered']));
}
