import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { type DeadLetterDocument, deadLetterId, deadLettersCollection } from './documents.ts';

/** Distance by which offsets are moved; more than the number of events of any topic. */
const offsetShift = 2 ** 44;

/**
 * Moves the dead letters of a lost log to negative offsets, in the same order. Otherwise an event of the new log with
 * the same offset would count as already stored. Returns the number of moved dead letters. May be repeated.
 */
export async function moveDeadLettersOfLostLog(store: Store, dryRun: boolean): Promise<number> {
  const deadLetters = store.collection<DeadLetterDocument>(deadLettersCollection);
  const ofLostLog = { offset: { $gte: 0 } };
  if (dryRun) return deadLetters.countDocuments(ofLostLog);
  let moved = 0;
  for await (const deadLetter of deadLetters.find(ofLostLog)) {
    const { _id, topic, partition, group } = deadLetter;
    const offset = deadLetter.offset - offsetShift;
    const movedId = deadLetterId({ topic, position: `${partition}:${offset}` }, group);
    try {
      await deadLetters.insertOne({ ...deadLetter, _id: movedId, offset });
    } catch (error) {
      // An interrupted run has already inserted it.
      if (!isDuplicateKey(error)) throw error;
    }
    await deadLetters.deleteOne({ _id });
    moved += 1;
  }
  return moved;
}
