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

  /** `path`: path of the database file. The log has this path with the suffix `-wal`. */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Calls `done` when everything committed before this call is durable, or with an error. Never calls it
   * synchronously.
   */
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

  /** Opens the log. The log exists after the first commit, and remains the same file while a connection is open. */
  #open(): number {
    const file = openSync(`${this.#path}-wal`, 'r+');
    // Syncs the directory, so that the directory entry of the log is durable, too.
    const directory = openSync(dirname(this.#path), 'r');
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
    return file;
  }
}
