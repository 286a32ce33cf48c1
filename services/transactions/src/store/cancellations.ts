import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { portions } from '../domain/portions.ts';
import { cancelMessages, changesOf, type Status, type TransactionEvent } from '../domain/state.ts';
import type { CanceledTransaction, Transitions } from '../ports/transitions.ts';
import { canceledFields, type createChanges, toCanceled } from './changes.ts';
import type { TransactionDocument } from './documents.ts';

type Cancellations = Pick<Transitions, 'cancelByPlatform' | 'cancelByRequest'>;

/**
 * Documents that one write cancels; few, because each may have 1 MiB and the embedded store blocks
 * meanwhile.
 */
const canceledAtOnce = 16;

/** Cancels several transactions with the same message. The stamp finds the canceled ones, also after a repeat. */
export function createCancellations(
  transactions: StoreCollection<TransactionDocument>,
  { changes }: { changes: ReturnType<typeof createChanges> },
): Cancellations {
  const withStamp = async (stamp: string): Promise<CanceledTransaction[]> =>
    (await transactions.find({ cancelStamp: stamp }, { projection: canceledFields }).toArray()).map(
      toCanceled,
    );
  /** Cancels the documents of `filter` in the states that the event can leave, as far as `may` allows. */
  const cancel = async (
    ids: readonly number[],
    filter: Filter<TransactionDocument>,
    event: TransactionEvent,
    { stamp, now, may = () => true }: { stamp: string; now: number; may?: (from: Status) => boolean },
  ): Promise<CanceledTransaction[]> => {
    for (const change of changesOf(event, now)) {
      const update = changes.write(change, now, { cancelStamp: stamp });
      for (const some of portions(ids, canceledAtOnce)) {
        const from = change.from.filter(may);
        await transactions.updateMany({ ...filter, _id: { $in: some }, status: { $in: from } }, update);
      }
    }
    return await withStamp(stamp);
  };
  return {
    async cancelByPlatform(wanted, message, stamp, now, seen) {
      if (wanted.length === 0) return [];
      const filter: Filter<TransactionDocument> = {
        ...(seen && { sentEpoch: { $lte: seen.epoch } }),
        ...(seen?.lostEpoch && { lostEpoch: seen.lostEpoch }),
      };
      const may = (from: Status) => !seen || (from === 'accepted') === seen.accepted;
      return cancel(wanted, filter, { type: 'cancel-by-platform', message }, { stamp, now, may });
    },
    async cancelByRequest({ ids, deviceId, applicationId, stamp, reachable }, now) {
      if (ids.length === 0) return [];
      const type = reachable ? 'cancel-reachable' : 'cancel-away';
      const filter: Filter<TransactionDocument> = { deviceId, applicationId, open: true };
      return cancel(ids, filter, { type, message: cancelMessages.request }, { stamp, now });
    },
  };
}
