import type { EmbeddedDatabase } from './database.ts';
import type { CollectionEngine } from './engine.ts';
import { paced } from './pace.ts';

/** Maximum documents that one write deletes. Few, because a write blocks the event loop. */
const batchSize = 20;

/** Deletes expired documents of TTL indexes, in small batches with pauses. Returns their number. */
export async function sweepExpired(
  db: EmbeddedDatabase,
  engines: Iterable<CollectionEngine>,
  signal: AbortSignal,
): Promise<number> {
  let total = 0;
  for (const engine of engines) {
    for (const { spec } of engine.expiringIndexes()) {
      const path = spec.parts[0]?.path as string;
      const limit = new Date(db.clock.now() - (spec.expireAfterSeconds ?? 0) * 1000);
      const expired = { $and: [{ [path]: { $lte: limit } }, spec.partial ?? {}] };
      await paced(async () => {
        const deleted = await db.write(() => engine.remove(expired, batchSize));
        total += deleted;
        return deleted === batchSize;
      }, signal);
    }
  }
  return total;
}
