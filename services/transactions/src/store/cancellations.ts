import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { portions } from '../domain/portions.ts';
import { cancelMessages, changesOf, type Status, type TransactionEvent } from '../domain/state.ts';
import type { CanceledTransaction, Transitions } from '../ports/transitions.ts';
import { canceledFields, type createChanges, toCanceled } from './changes.ts';
import type { TransactionDocument } from './documents.ts';

type Cancellations = Pick<Transitions, 'cancelByPlatform' | 'cancelByRequest'>;

/** Documents per write; few, because a document may have 1 MiB and the embedded store blocks during the write. */
const canceledAtOnce = 16;

/**
 * Cancels several transactions with the same message. Canceled documents contain the stamp, so a repeat returns them
 * again.
 */
export function createCancellations(
  transactions: StoreCollection<TransactionDocument>,
  { changes }: { changes: ReturnType<typeof createChanges> },
): Cancellations {
  const withStamp = async (stamp: string): Promise<CanceledTransaction[]> =>
    (await transactions.find({ cancelStamp: stamp }, { projection: canceledFields }).toArray()).map(
      toCanceled,
    );
  /** Applies the event to the documents of `filter`, in the states for which `may` returns true. */
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
    async cancelByPlatform(wanted, message, stamp, now, readState) {
      if (wanted.length === 0) return [];
      const filter: Filter<TransactionDocument> = {
        ...(readState && { sentEpoch: { $lte: readState.epoch } }),
        ...(readState?.lostEpoch && { lostEpoch: readState.lostEpoch }),
      };
      const may = (from: Status) => !readState || (from === 'accepted') === readState.accepted;
      return cancel(wanted, filter, { type: 'cancel-by-platform', message }, { stamp, now, may });
    },
    async cancelByRequest({ ids, deviceId, applicationId, stamp, reachable }, now) {
      if (ids.length === 0) return [];
      const type = reachable ? 'cancel-online' : 'cancel-offline';
      const filter: Filter<TransactionDocument> = { deviceId, applicationId, open: true };
      return cancel(ids, filter, { type, message: cancelMessages.request }, { stamp, now });
    },
  };
}
