import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';

/** Number of commits between two checkpoints. They write a few megabytes to the log. */
const commitsPerCheckpoint = 500;

/**
 * Keeps the write-ahead log short without blocking the event loop. A worker thread runs a checkpoint, which copies the
 * pages of the log into the database file. Then this thread runs a second checkpoint between two transactions, for the
 * few pages that were committed in the meantime. After that, SQLite can restart the log. If the worker fails, only
 * SQLite's automatic checkpoint (`wal_autocheckpoint`) remains. It runs later, and on this thread.
 */
export class Checkpointer {
  readonly #path: string;
  readonly #checkpoint: StatementSync;
  #worker: Worker | undefined;
  #commits = 0;
  /** 'done': the worker's checkpoint has ended, and the second checkpoint is due. 'off': no further checkpoints. */
  #state: 'idle' | 'running' | 'done' | 'off' = 'idle';
  #ended = Promise.withResolvers<void>();

  constructor(path: string, sql: DatabaseSync) {
    this.#path = path;
    this.#checkpoint = sql.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  }

  /** Call it after each commit, while no transaction is open. */
  afterCommit(): void {
    this.#commits += 1;
    if (this.#state === 'done') {
      try {
        this.#checkpoint.get();
        this.#state = 'idle';
      } catch {
        // The commit has succeeded. Without further checkpoints the log grows until SQLite's automatic checkpoint.
        this.#state = 'off';
      }
      return;
    }
    if (this.#state !== 'idle' || this.#commits < commitsPerCheckpoint) return;
    this.#commits = 0;
    this.#state = 'running';
    this.#worker ??= this.#start();
    this.#worker.postMessage(undefined);
  }

  /** Resolves when the worker thread has closed the file. */
  async close(): Promise<void> {
    if (this.#state === 'running') await this.#ended.promise;
    this.#state = 'off';
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(new URL('./checkpoint-worker.ts', import.meta.url), { workerData: this.#path });
    worker.unref();
    const settle = (state: 'done' | 'off') => {
      if (this.#state === 'running') this.#state = state;
      this.#ended.resolve();
      this.#ended = Promise.withResolvers();
    };
    worker.on('message', (failure: string | undefined) => settle(failure === undefined ? 'done' : 'off'));
    worker.on('error', () => settle('off'));
    return worker;
  }
}
