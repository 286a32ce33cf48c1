import { HeldState, type HeldTransaction } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Held, HeldAs } from '../domain/online.ts';

const states: Partial<Record<HeldState, HeldAs>> = {
  [HeldState.STARTED]: 'started',
  [HeldState.FINISHED]: 'finished',
};

/** What a headset says that it holds; a state that is not known here is taken for 'offered'. */
export function heldOf(held: readonly HeldTransaction[]): Held {
  return new Map(held.map((h) => [Number(h.transactionId), states[h.state] ?? 'offered']));
}
