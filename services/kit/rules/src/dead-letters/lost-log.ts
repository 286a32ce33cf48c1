import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { type DeadLetterDocument, deadLetterId, lettersCollection } from './documents.ts';

/** More than the number of events of any topic. */
const below = 2 ** 44;

/**
 * Moves the dead letters of a lost log to offsets below those of every new log, in the same order. Otherwise an event of
 * the new log with the same offset would count as a dead letter already. Returns the number moved. May be repeated.
 */
export async function leaveLostLog(store: Store, dryRun: boolean): Promise<number> {
  const letters = store.collection<DeadLetterDocument>(lettersCollection);
  const ofLostLog = { offset: { $gte: 0 } };
  if (dryRun) return letters.countDocuments(ofLostLog);
  let moved = 0;
  for await (const letter of letters.find(ofLostLog)) {
    const { _id, topic, partition, group } = letter;
    const offset = letter.offset - below;
    const place = deadLetterId({ topic, position: `${partition}:${offset}` }, group);
    try {
      await letters.insertOne({ ...letter, _id: place, offset });
    } catch (error) {
      // An interrupted run has already inserted it.
      if (!isDuplicateKey(error)) throw error;
    }
    await letters.deleteOne({ _id });
    moved += 1;
  }
  return moved;
}
