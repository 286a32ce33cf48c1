import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';

/** Commits between two checkpoints; they make a few megabytes of log. */
const everyCommits = 500;

/**
 * Keeps the write-ahead log short without blocking the event loop. A worker thread runs a checkpoint: it
 * copies the log's pages into the database file. The few pages that are committed meanwhile get a second
 * checkpoint here, between two transactions; then SQLite can restart the log. If the thread fails,
 * SQLite's own checkpoint (`wal_autocheckpoint`) takes over, later and on this thread.
 */
export class Checkpointer {
  readonly #path: string;
  readonly #finish: StatementSync;
  #worker: Worker | undefined;
  #commits = 0;
  /** 'done': the worker's checkpoint has ended, and the second one is to follow. 'off': none any more. */
  #state: 'idle' | 'running' | 'done' | 'off' = 'idle';
  #ended = Promise.withResolvers<void>();

  constructor(path: string, sql: DatabaseSync) {
    this.#path = path;
    this.#finish = sql.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  }

  /** Call it after each commit, while no transaction is open. */
  afterCommit(): void {
    this.#commits += 1;
    if (this.#state === 'done') {
      this.#state = 'idle';
      this.#finish.get();
      return;
    }
    if (this.#state !== 'idle' || this.#commits < everyCommits) return;
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
