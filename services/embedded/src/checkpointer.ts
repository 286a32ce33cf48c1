import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';

/** Commits between two checkpoints: a few megabytes of log. */
const everyCommits = 500;

/**
 * Keeps the write-ahead log short without blocking the event loop: another thread carries its pages
 * into the database file; what was committed meanwhile, a few pages, is carried here, between two
 * transactions, so that the log can begin anew. Should the thread fail, SQLite's own checkpoint
 * (`wal_autocheckpoint`) does it, later and in this thread.
 */
export class Checkpointer {
  readonly #path: string;
  readonly #finish: StatementSync;
  #worker: Worker | undefined;
  #commits = 0;
  #state: 'idle' | 'running' | 'carried' | 'off' = 'idle';
  #ended = Promise.withResolvers<void>();

  constructor(path: string, sql: DatabaseSync) {
    this.#path = path;
    this.#finish = sql.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  }

  /** To be called after each commit, while no transaction is open. */
  afterCommit(): void {
    this.#commits += 1;
    if (this.#state === 'carried') {
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

  /** Resolves when the other thread has let go of the file. */
  async close(): Promise<void> {
    if (this.#state === 'running') await this.#ended.promise;
    this.#state = 'off';
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(new URL('./checkpoint-worker.ts', import.meta.url), { workerData: this.#path });
    worker.unref();
    const settle = (state: 'carried' | 'off') => {
      if (this.#state === 'running') this.#state = state;
      this.#ended.resolve();
      this.#ended = Promise.withResolvers();
    };
    worker.on('message', (failure: string | undefined) => settle(failure === undefined ? 'carried' : 'off'));
    worker.on('error', () => settle('off'));
    return worker;
  }
}
