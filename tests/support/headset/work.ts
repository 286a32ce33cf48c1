import type { Offer } from '@headset-cloud/proto/headset/device_link/v1/device_link_pb.ts';
import type { Behaviour } from './behaviour.ts';
import type { Effects } from './effects.ts';
import type { Outcome } from './journal.ts';

/**
 * Does what a started transaction says, and answers how it ended. What belongs to an older
 * activation than the newest the headset knows does not take place (ruling A7; protocol page,
 * "Activations"): a command fails; a deactivation has nothing left to end.
 */
export function work(
  offer: Offer,
  newestEpoch: number,
  behaviour: Behaviour,
  effects: Effects,
): Outcome & { readonly tookPlace: boolean } {
  const kind = offer.operation?.kind.case;
  const effect = { transactionId: Number(offer.transactionId), operation: offer.operationId };
  const words: Readonly<Record<string, string>> = {
    activate: 'activated',
    deactivate: 'deactivated',
    command: 'called',
  };
  if (kind && effects.has(effect.transactionId)) {
    return { success: true, message: words[kind] ?? 'done', tookPlace: false };
  }
  if (Number(offer.activationEpoch) < newestEpoch) {
    return kind === 'deactivate'
      ? { success: true, message: 'deactivated', tookPlace: false }
      : {
          success: false,
          message: 'The transaction belongs to an earlier activation.',
          tookPlace: false,
        };
  }
  if (kind === undefined) {
    return { success: false, message: 'This client does not know the operation.', tookPlace: false };
  }
  if (!behaviour.succeeds) return { success: false, message: 'failed', tookPlace: false };
  const tookPlace = effects.apply(effect);
  return { success: true, message: words[kind] ?? 'done', tookPlace };
}
