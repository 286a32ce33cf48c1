import { isDuplicateKey } from '../errors.ts';
import type { Store } from '../store/types.ts';
import { type DeadLetterDocument, deadLetterId, lettersCollection } from './documents.ts';

/** More than a topic ever has events. */
const below = 2 ** 44;

/**
 * Gives dead letters of a log that is lost places below those of every new log, in the same order: otherwise an
 * event of the new log in such a place would count as set aside already. Answers how many; may be repeated.
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
      // A run that was interrupted has inserted it.
      if (!isDuplicateKey(error)) throw error;
    }
    await letters.deleteOne({ _id });
    moved += 1;
  }
  return moved;
}
