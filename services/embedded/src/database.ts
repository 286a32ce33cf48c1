import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { type Clock, systemClock } from '@headset-cloud/kit/clock.ts';
import type { Settle } from '@headset-cloud/kit/store/types.ts';
import { Checkpointer } from './checkpointer.ts';
import { EmbeddedDatabaseError, explainFailure } from './database-errors.ts';
import { lockDirectory } from './database-lock.ts';
import { WalSync } from './wal-sync.ts';

export { EmbeddedDatabaseError } from './database-errors.ts';

/**
 * One SQLite file that every embedded store and the embedded event log share (rule C5), with
 * group commit: a write takes effect at once inside the open transaction; the transaction is committed
 * at the end of the turn of the event loop, or, when nobody needs it sooner, as soon as the one before
 * it is durable; and no write's promise settles before its own is. The disk is waited for on another
 * thread (wal-sync.ts).
 */
export interface EmbeddedDatabase {
  /** The connection. Read with it at any time (uncommitted writes are seen); write only in `write`. */
  readonly sql: DatabaseSync;
  readonly clock: Clock;
  /**
   * Runs `work` at once and synchronously. Resolves with its answer once that is durable; with `settle`
   * 'in-order' once it is committed, which every later write's being durable includes (ADR 0012). When
   * `work` throws, nothing of it stays, and the promise rejects with its error (also after the commit,
   * as what it saw may not have been durable). Rejects with EmbeddedDatabaseError when the commit
   * fails; then nothing of the whole turn's writes stays.
   */
  write<T>(work: () => T, settle?: Settle): Promise<T>;
  /** Resolves when everything written so far is durable: at once if it is. Rejects when it got lost. */
  afterCommit(): Promise<void>;
  /** True while something is written that is not durable yet. */
  readonly uncommitted: boolean;
  /** Rises with each transaction: what was noted under an older number is committed or undone. */
  readonly transaction: number;
  /** The newest transaction that is durable: what was noted under this number or an older one is. */
  readonly durable: number;
  /** `listener` hears that writes were undone (by a throwing `work` or a failed commit): drop caches. */
  onUndo(listener: () => void): void;
  /** `listener` is awaited, in reverse order, before the database closes. */
  onClose(listener: () => void | Promise<void>): void;
  /** Undefined while writes succeed; otherwise why the last one did not, and what to do. */
  notReady(): string | undefined;
  /** Commits what is open, closes the file and releases the directory. Safe to call twice. */
  close(): Promise<void>;
}

interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Opens (or creates) `<directory>/headset-cloud.db`. Throws EmbeddedDatabaseError when another
 * process has the directory open, or the disk cannot be written.
 */
export function openEmbeddedDatabase(options: {
  directory: string;
  clock?: Clock;
  /** Brings the write-ahead log to the disk; replaced by tests. */
  walSync?: Pick<WalSync, 'sync' | 'close'>;
}): EmbeddedDatabase {
  return new GroupCommitDatabase(options.directory, options.clock ?? systemClock, options.walSync);
}

/** The database's file in its directory. */
export const databaseFile = 'headset-cloud.db';

/** How long after a failed commit the disk is tried again, so that readiness comes back by itself. */
const probeAfterMs = 1000;
/** How long what nobody waits for may stay away from the disk. */
const unwantedSyncMs = 50;

class GroupCommitDatabase implements EmbeddedDatabase {
  readonly sql: DatabaseSync;
  readonly clock: Clock;
  readonly #path: string;
  readonly #unlock: () => void;
  readonly #statements: Record<
    'begin' | 'commit' | 'rollback' | 'save' | 'release' | 'undo' | 'probe',
    StatementSync
  >;
  readonly #undoListeners: (() => void)[] = [];
  readonly #closeListeners: (() => void | Promise<void>)[] = [];
  readonly #walSync: Pick<WalSync, 'sync' | 'close'>;
  readonly #checkpointer: Checkpointer;
  /** Who waits for the open transaction to be committed, and who for it to be durable. */
  #commitWaiters: Waiter[] = [];
  #waiters: Waiter[] = [];
  /** Who waits for what is committed and not yet on its way to the disk; undefined when nothing is. */
  #unsynced: Waiter[] | undefined;
  /** Who waits for what is on its way to the disk; undefined when nothing is. */
  #syncing: Waiter[] | undefined;
  #open = false;
  /** The transaction that ends with this turn of the event loop. */
  #ending = 0;
  #working = false;
  #transaction = 1;
  #durable = 0;
  #failure: string | undefined;
  /** Set once the disk has lost what was committed: only a restart finds out what is left. */
  #lost: EmbeddedDatabaseError | undefined;
  #probe: NodeJS.Timeout | undefined;
  #syncLater: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;
  #closed = false;

  constructor(directory: string, clock: Clock, walSync: Pick<WalSync, 'sync' | 'close'> | undefined) {
    this.clock = clock;
    this.#path = join(directory, databaseFile);
    try {
      mkdirSync(directory, { recursive: true });
    } catch (error) {
      throw explainFailure(error, directory);
    }
    this.#unlock = lockDirectory(directory);
    try {
      this.sql = openSqlite(this.#path);
      this.#statements = {
        begin: this.sql.prepare('BEGIN IMMEDIATE'),
        commit: this.sql.prepare('COMMIT'),
        rollback: this.sql.prepare('ROLLBACK'),
        save: this.sql.prepare('SAVEPOINT work'),
        release: this.sql.prepare('RELEASE work'),
        undo: this.sql.prepare('ROLLBACK TO work'),
        probe: this.sql.prepare(
          'INSERT INTO disk_probe (id, tries) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET tries = tries + 1',
        ),
      };
      this.#walSync = walSync ?? new WalSync(this.#path);
      this.#checkpointer = new Checkpointer(this.#path, this.sql);
    } catch (error) {
      this.#unlock();
      throw explainFailure(error, this.#path);
    }
  }

  get uncommitted(): boolean {
    return this.#open || this.#unsynced !== undefined || this.#syncing !== undefined;
  }

  get durable(): number {
    return this.#durable;
  }

  get transaction(): number {
    return this.#transaction;
  }

  write<T>(work: () => T, settle: Settle = 'durable'): Promise<T> {
    if (this.#working) throw new Error('EmbeddedDatabase.write was called inside another write.');
    if (this.#closed) return Promise.reject(closedError());
    if (this.#lost) return Promise.reject(this.#lost);
    let outcome: { value: T } | { thrown: unknown };
    this.#working = true;
    try {
      if (!this.#open) this.#begin();
      outcome = this.#run(work);
    } catch (error) {
      // The disk failed inside a statement: SQLite may have undone the whole transaction.
      const failure = this.#fail(error);
      return Promise.reject(failure);
    } finally {
      this.#working = false;
    }
    const settled = outcome;
    if (settle === 'in-order') this.#commitAfterTurn();
    const waiters = settle === 'in-order' ? this.#commitWaiters : this.#waiters;
    return new Promise<T>((resolve, reject) => {
      waiters.push({
        resolve: () => ('thrown' in settled ? reject(settled.thrown) : resolve(settled.value)),
        reject,
      });
    });
  }

  afterCommit(): Promise<void> {
    const waiters = this.#open ? this.#waiters : (this.#unsynced ?? this.#syncing);
    if (!waiters) return this.#lost ? Promise.reject(this.#lost) : Promise.resolve();
    const durable = new Promise<void>((resolve, reject) => {
      waiters.push({ resolve, reject });
    });
    this.#syncWanted();
    return durable;
  }

  onUndo(listener: () => void): void {
    this.#undoListeners.push(listener);
  }

  onClose(listener: () => void | Promise<void>): void {
    this.#closeListeners.push(listener);
  }

  notReady(): string | undefined {
    return this.#closing ? 'the embedded database is closed' : this.#failure;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #begin(): void {
    this.#statements.begin.run();
    this.#open = true;
    // While the disk is busy with the transaction before, this one goes on taking writes.
    if (!this.#syncing) this.#commitAfterTurn();
  }

  #commitAfterTurn(): void {
    const { transaction } = this;
    if (this.#ending === transaction) return;
    this.#ending = transaction;
    setImmediate(() => {
      // A failure may have ended that transaction, and a later write begun another, with its own turn.
      if (this.#open && this.#transaction === transaction) this.#commit();
    });
  }

  #run<T>(work: () => T): { value: T } | { thrown: unknown } {
    this.#statements.save.run();
    let outcome: { value: T } | { thrown: unknown };
    try {
      outcome = { value: work() };
    } catch (error) {
      if (isDiskError(error) || !this.sql.isTransaction) throw error;
      this.#statements.undo.run();
      for (const listener of this.#undoListeners) listener();
      outcome = { thrown: error };
    }
    this.#statements.release.run();
    return outcome;
  }

  #commit(): void {
    try {
      this.#statements.commit.run();
    } catch (error) {
      this.#fail(error);
      return;
    }
    const { waiters, commitWaiters } = this.#end();
    this.#unsynced = [...(this.#unsynced ?? []), ...waiters];
    this.#syncWanted();
    this.#checkpointer.afterCommit();
    for (const waiter of commitWaiters) waiter.resolve();
  }

  /** Sends what is committed to the disk: at once when somebody waits for it, else before long. */
  #syncWanted(): void {
    if (this.#syncing || !this.#unsynced) return;
    if (this.#unsynced.length > 0) {
      this.#sync();
      return;
    }
    this.#syncLater ??= setTimeout(() => {
      this.#syncLater = undefined;
      if (this.#unsynced && !this.#syncing) this.#sync();
    }, unwantedSyncMs);
  }

  #sync(): void {
    const committed = this.#transaction - 1;
    this.#syncing = this.#unsynced ?? [];
    this.#unsynced = undefined;
    this.#walSync.sync((error) => this.#synced(committed, error));
  }

  /** The disk has, or has not, what was committed before it was asked. */
  #synced(committed: number, error: Error | null): void {
    const waiters = this.#syncing ?? [];
    this.#syncing = undefined;
    if (error) {
      this.#loseAll(error, waiters);
      return;
    }
    this.#durable = committed;
    this.#failure = undefined;
    for (const waiter of waiters) waiter.resolve();
    if (this.#open) this.#commitAfterTurn();
    else this.#syncWanted();
  }

  /**
   * What was committed may or may not be on the disk, and the kernel may have dropped it: nothing can
   * be promised any more. What is not durable is refused until the process starts anew.
   */
  #loseAll(error: Error, waiters: readonly Waiter[]): void {
    const cause = explainFailure(error, this.#path);
    this.#lost = new EmbeddedDatabaseError(`${cause.message} Restart the process.`, { cause });
    for (const waiter of [...waiters, ...(this.#unsynced ?? [])]) waiter.reject(this.#lost);
    this.#unsynced = undefined;
    if (this.#open) this.#fail(this.#lost);
    this.#failure = this.#lost.message;
  }

  /** Ends the transaction without its writes, and tells everyone who waits for it. */
  #fail(error: unknown): EmbeddedDatabaseError {
    const failure = explainFailure(error, this.#path);
    try {
      if (this.sql.isTransaction) this.#statements.rollback.run();
    } catch {
      // Already rolled back by SQLite itself.
    }
    const { waiters, commitWaiters } = this.#end();
    this.#failure = failure.message;
    for (const listener of this.#undoListeners) listener();
    for (const waiter of [...commitWaiters, ...waiters]) waiter.reject(failure);
    // The transactions before it stay.
    this.#syncWanted();
    this.#probeLater();
    return failure;
  }

  #end(): { waiters: Waiter[]; commitWaiters: Waiter[] } {
    const ended = { waiters: this.#waiters, commitWaiters: this.#commitWaiters };
    this.#waiters = [];
    this.#commitWaiters = [];
    this.#open = false;
    this.#transaction += 1;
    return ended;
  }

  #probeLater(): void {
    if (this.#probe || this.#closing) return;
    this.#probe = setTimeout(() => {
      this.#probe = undefined;
      if (!this.#failure || this.#closing) return;
      this.write(() => this.#statements.probe.run()).catch(() => {
        // Still failing: #fail has noted why and asked for the next probe.
      });
    }, probeAfterMs);
    this.#probe.unref();
  }

  async #close(): Promise<void> {
    clearTimeout(this.#probe);
    for (const listener of this.#closeListeners.reverse()) await listener();
    this.#closed = true;
    // A failure has told everyone who waited.
    while (this.uncommitted) await this.afterCommit().catch(() => {});
    clearTimeout(this.#syncLater);
    await this.#checkpointer.close();
    this.#walSync.close();
    this.sql.close();
    this.#unlock();
  }
}

function openSqlite(path: string): DatabaseSync {
  // Someone may look at the file with another program: wait a little for its lock.
  const sql = new DatabaseSync(path, { timeout: 500 });
  try {
    sql.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = NORMAL;
      PRAGMA temp_store = MEMORY;
      PRAGMA cache_size = -65536;
      PRAGMA journal_size_limit = 67108864;
      PRAGMA wal_autocheckpoint = 40000;
      CREATE TABLE IF NOT EXISTS disk_probe (id INTEGER PRIMARY KEY, tries INTEGER NOT NULL);
    `);
    return sql;
  } catch (error) {
    sql.close();
    throw error;
  }
}

/** SQLite's errors of the file and the disk, against mistakes in a statement or a constraint. */
function isDiskError(error: unknown): boolean {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  if (typeof code !== 'number') return false;
  // NOMEM 7, READONLY 8, IOERR 10, CORRUPT 11, FULL 13, CANTOPEN 14, NOTADB 26 (low byte: primary code).
  return [7, 8, 10, 11, 13, 14, 26].includes(code & 0xff);
}

function closedError(): EmbeddedDatabaseError {
  return new EmbeddedDatabaseError('The embedded database is closed: the process is stopping.');
}
