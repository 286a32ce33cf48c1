import { closeSync, fdatasync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Brings SQLite's write-ahead log to the disk without blocking the event loop. With `synchronous =
 * NORMAL` a COMMIT writes its frames to the operating system only; after this they survive a power
 * failure as with FULL: on opening, SQLite takes every commit whose frames are whole.
 */
export class WalSync {
  readonly #path: string;
  #file: number | undefined;

  /** `path`: the database's; its log lies beside it. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Calls back, always later, when everything committed before the call is durable. */
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
    // Its name in the directory has to be durable, too.
    const directory = openSync(dirname(this.#path), 'r');
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
    return file;
  }
}
