import { closeSync, fdatasync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Syncs SQLite's write-ahead log to disk without blocking the event loop. With `synchronous = NORMAL` a
 * COMMIT only writes its frames to the operating system's cache. After this sync they survive a power failure, as with
 * FULL: at the next start SQLite recovers every commit with complete frames.
 */
export class WalSync {
  readonly #path: string;
  #file: number | undefined;

  /** `path`: of the database file; its log has the same path with `-wal`. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Calls `done`, never synchronously, when everything committed before this call is durable, or with an error. */
  sync(done: (error: Error | null) => void): void {
    try {
      this.#file ??= this.#open();
    } catch (error) {
      setImmediate(done, error as Error);
      return;
    }
    fdatasync(this.#file, done);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** The log exists from the first commit on, and stays the same file while a connection is open. */
  #open(): number {
    const file = openSync(`${this.#path}-wal`, 'r+');
    // The log's entry in the directory must be durable, too.
    const directory = openSync(dirname(this.#path), 'r');
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
    return file;
  }
}
