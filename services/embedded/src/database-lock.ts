import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { EmbeddedDatabaseError, explainFailure } from './database-errors.ts';

/** SQLite's primary result code if another connection holds the lock. */
const busy = 5;

/**
 * Locks the data directory for this process. Returns a function that releases the lock. The lock is an exclusive SQLite
 * lock on an empty file next to the data. The operating system releases it when the process ends, also after a crash.
 * Throws EmbeddedDatabaseError if another process holds the lock.
 */
export function lockDirectory(directory: string): () => void {
  const path = join(directory, 'headset-cloud.lock');
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(path, { timeout: 0 });
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    if (((error as { errcode?: number }).errcode ?? 0) % 256 === busy) {
      throw new EmbeddedDatabaseError(
        `The data directory ${directory} is in use by another process of this platform: stop that one, or set another data directory.`,
      );
    }
    throw explainFailure(error, path);
  }
  const held = lock;
  return () => held.close();
}
