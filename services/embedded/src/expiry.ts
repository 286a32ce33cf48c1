import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EmbeddedDatabase } from './database.ts';
import type { CollectionEngine } from './engine.ts';

/** Documents deleted in one write: between two writes other work runs. */
const batchSize = 200;

/** Deletes the documents whose TTL index has expired; answers how many. */
export async function sweepExpired(
  db: EmbeddedDatabase,
  engines: Iterable<CollectionEngine>,
): Promise<number> {
  let total = 0;
  for (const engine of engines) {
    for (const { spec } of engine.expiringIndexes()) {
      const path = spec.parts[0]?.path as string;
      const limit = new Date(db.clock.now() - (spec.expireAfterSeconds ?? 0) * 1000);
      const expired = { $and: [{ [path]: { $lte: limit } }, spec.partial ?? {}] };
      for (let deleted = batchSize; deleted === batchSize; ) {
        deleted = await db.write(() => engine.remove(expired, batchSize));
        total += deleted;
        await nextTurn();
      }
    }
  }
  return total;
}
