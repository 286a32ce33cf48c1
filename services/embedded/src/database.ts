import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { type Clock, systemClock, systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Settle } from '@headset-cloud/store/types.ts';
import { Checkpointer } from './checkpointer.ts';
import { EmbeddedDatabaseError, explainFailure } from './database-errors.ts';
import { lockDirectory } from './database-lock.ts';
import { WalSync } from './wal-sync.ts';

export { EmbeddedDatabaseError } from './database-errors.ts';

/**
 * One SQLite file for all embedded stores and the embedded event log (rule C5), with group commit. A write takes
 * effect at once inside the open transaction. The transaction is committed at the end of the event loop iteration.
 * While the previous transaction is still synced to disk, the open transaction accepts more writes and is committed
 * after the sync; an 'in-order' write commits it earlier. A write's promise settles when its transaction is durable.
 * The sync runs on another thread (wal-sync.ts).
 */
export interface EmbeddedDatabase {
  /** The connection. Reads are allowed at any time, and see uncommitted writes; writes only in `write`. */
  readonly sql: DatabaseSync;
  readonly clock: Clock;
  /**
   * Runs `work` at once and synchronously. Resolves with its result when the write is durable. With `settle` 'in-order'
   * it resolves when the write is committed; a later durable write then makes it durable, too (ADR 0012).
   *
   * If `work` throws, its writes are undone. The promise then rejects with the error, but not before it would have
   * resolved, because `work` may have read data that was not durable. Rejects with EmbeddedDatabaseError if the commit
   * fails; then all writes of the transaction are undone. Rejects with `unavailable`, and writes nothing, if too many
   * callers wait for the disk.
   */
  write<T>(work: () => T, settle?: Settle): Promise<T>;
  /**
   * Like `write`, for `work` that never throws after a write. It is cheaper: with a savepoint SQLite copies each page
   * before its first change. If `work` throws, the whole transaction is undone, and all callers that wait for the
   * transaction get an EmbeddedDatabaseError.
   */
  writeWithoutSavepoint<T>(work: () => T, settle?: Settle): Promise<T>;
  /** Resolves when everything written so far is durable. Rejects when some of it was lost. */
  untilDurable(): Promise<void>;
  /** True while some writes are not durable yet. */
  readonly hasPendingWrites: boolean;
  /** Number of the open, or next, transaction. Older transactions are committed or undone. */
  readonly transaction: number;
  /** Number of the newest durable transaction. All older transactions are durable, too, or undone. */
  readonly durable: number;
  /** Adds `participant` to every later transaction. */
  addParticipant(participant: Participant): void;
  /**
   * Calls `listener` after writes were undone, because `work` threw or a commit failed. The listener clears its
   * caches.
   */
  onUndo(listener: () => void): void;
  /** Calls and awaits `listener` before the database closes. Listeners are called in reverse order. */
  onClose(listener: () => void | Promise<void>): void;
  /** Undefined while writes succeed; otherwise why the last write failed, and how to fix it. */
  notReady(): string | undefined;
  /** Commits the open transaction, closes the file and releases the directory. Safe to call twice. */
  close(): Promise<void>;
}

/** Is called at the steps of each transaction. */
export interface Participant {
  /** Called before a `work` that may be undone without the rest of its transaction. */
  mark(): void;
  /** Called before the commit, as the last chance to write in the transaction. An error undoes the transaction. */
  beforeCommit(): void;
  /** Called after a rollback. `alone`: only the writes since `mark` were undone, otherwise the whole transaction. */
  undone(alone: boolean): void;
}

/** Result of a write's `work`: its value or its error. */
type Outcome<T> = { readonly value: T } | { readonly thrown: unknown };

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
  /** Syncs the write-ahead log to disk; tests replace it. */
  walSync?: Pick<WalSync, 'sync' | 'close'>;
  time?: Time;
}): EmbeddedDatabase {
  const { directory, clock = systemClock, walSync, time = systemTime } = options;
  return new GroupCommitDatabase(directory, clock, walSync, time);
}

/** The database's file in its directory. */
export const databaseFile = 'headset-cloud.db';

/** Time from a failed commit to a write that tries the disk again, so that readiness returns; milliseconds. */
const probeAfterMs = 1000;
/** Maximum number of callers that wait for a sync. On a working disk, the next sync completes all of them. */
const maxWaiting = 20_000;
/** Maximum age of a commit without waiting callers before it is synced to disk; milliseconds. */
const maxUnsyncedMs = 50;

class GroupCommitDatabase implements EmbeddedDatabase {
  readonly sql: DatabaseSync;
  readonly clock: Clock;
  readonly #path: string;
  readonly #time: Time;
  readonly #unlock: () => void;
  readonly #statements: Record<
    'begin' | 'commit' | 'rollback' | 'save' | 'release' | 'undo' | 'probe',
    StatementSync
  >;
  readonly #participants: Participant[] = [];
  readonly #undoListeners: (() => void)[] = [];
  readonly #closeListeners: (() => void | Promise<void>)[] = [];
  readonly #walSync: Pick<WalSync, 'sync' | 'close'>;
  readonly #checkpointer: Checkpointer;
  /** Callers that wait until the open transaction is committed. */
  #commitWaiters: Waiter[] = [];
  /** Callers that wait until the open transaction is durable. */
  #waiters: Waiter[] = [];
  /** Callers that wait for committed transactions whose sync has not started; undefined if there is none. */
  #unsynced: Waiter[] | undefined;
  /** Callers that wait for the running sync; undefined if none runs. */
  #syncing: Waiter[] | undefined;
  #open = false;
  /** Number of the transaction that is committed at the end of this event loop iteration. */
  #scheduledCommit = 0;
  #working = false;
  #transaction = 1;
  #durable = 0;
  #failure: string | undefined;
  /** Set when a sync has failed. Commits may be lost; only a restart shows which. */
  #fatalError: EmbeddedDatabaseError | undefined;
  #probe: Timer | undefined;
  #syncLater: Timer | undefined;
  #closing: Promise<void> | undefined;
  #closed = false;

  constructor(
    directory: string,
    clock: Clock,
    walSync: Pick<WalSync, 'sync' | 'close'> | undefined,
    time: Time,
  ) {
    this.clock = clock;
    this.#time = time;
    this.#path = join(directory, databaseFile);
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw explainFailure(error, directory);
    }
    this.#unlock = lockDirectory(directory);
    try {
      restrictAccess(this.#path);
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

  get hasPendingWrites(): boolean {
    return this.#open || this.#unsynced !== undefined || this.#syncing !== undefined;
  }

  get durable(): number {
    return this.#durable;
  }

  get transaction(): number {
    return this.#transaction;
  }

  write<T>(work: () => T, settle: Settle = 'durable'): Promise<T> {
    return this.#write(() => this.#runInSavepoint(work), settle);
  }

  writeWithoutSavepoint<T>(work: () => T, settle: Settle = 'durable'): Promise<T> {
    return this.#write(() => ({ value: work() }), settle);
  }

  #write<T>(run: () => Outcome<T>, settle: Settle): Promise<T> {
    if (this.#working) throw new Error('EmbeddedDatabase.write was called inside another write.');
    if (this.#closed) return Promise.reject(closedError());
    if (this.#fatalError) return Promise.reject(this.#fatalError);
    if (this.#isOverloaded) return Promise.reject(overloaded());
    let outcome: Outcome<T>;
    this.#working = true;
    try {
      if (!this.#open) this.#begin();
      outcome = run();
    } catch (error) {
      // Either the disk failed inside a statement, and SQLite may have rolled back the transaction. Or `work` threw
      // without a savepoint. In both cases the whole transaction is undone.
      const failure = this.#fail(error);
      return Promise.reject(failure);
    } finally {
      this.#working = false;
    }
    const settled = outcome;
    if (settle === 'in-order') this.#scheduleCommit();
    const waiters = settle === 'in-order' ? this.#commitWaiters : this.#waiters;
    return new Promise<T>((resolve, reject) => {
      waiters.push({
        resolve: () => ('thrown' in settled ? reject(settled.thrown) : resolve(settled.value)),
        reject,
      });
    });
  }

  untilDurable(): Promise<void> {
    const waiters = this.#open ? this.#waiters : (this.#unsynced ?? this.#syncing);
    if (!waiters) return this.#fatalError ? Promise.reject(this.#fatalError) : Promise.resolve();
    // The limit does not apply to the wait of `close`.
    if (!this.#closed && this.#isOverloaded) return Promise.reject(overloaded());
    const durable = new Promise<void>((resolve, reject) => {
      waiters.push({ resolve, reject });
    });
    this.#startSync();
    return durable;
  }

  addParticipant(participant: Participant): void {
    this.#participants.push(participant);
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

  get #isOverloaded(): boolean {
    const waiting = this.#waiters.length + (this.#unsynced?.length ?? 0) + (this.#syncing?.length ?? 0);
    return waiting >= maxWaiting;
  }

  #begin(): void {
    this.#statements.begin.run();
    this.#open = true;
    // While a sync runs, the transaction stays open for more writes; it is committed after the sync.
    if (!this.#syncing) this.#scheduleCommit();
  }

  #scheduleCommit(): void {
    const { transaction } = this;
    if (this.#scheduledCommit === transaction) return;
    this.#scheduledCommit = transaction;
    setImmediate(() => {
      // A failure may have ended this transaction. A later transaction schedules its own commit.
      if (this.#open && this.#transaction === transaction) this.#commit();
    });
  }

  #runInSavepoint<T>(work: () => T): Outcome<T> {
    this.#statements.save.run();
    for (const participant of this.#participants) participant.mark();
    let outcome: Outcome<T>;
    try {
      outcome = { value: work() };
    } catch (error) {
      if (isDiskError(error) || !this.sql.isTransaction) throw error;
      this.#statements.undo.run();
      this.#notifyUndone(true);
      outcome = { thrown: error };
    }
    this.#statements.release.run();
    return outcome;
  }

  #commit(): void {
    try {
      for (const participant of this.#participants) participant.beforeCommit();
      this.#statements.commit.run();
    } catch (error) {
      this.#fail(error);
      return;
    }
    const { waiters, commitWaiters } = this.#endTransaction();
    this.#unsynced = [...(this.#unsynced ?? []), ...waiters];
    this.#startSync();
    this.#checkpointer.afterCommit();
    for (const waiter of commitWaiters) waiter.resolve();
  }

  /** Syncs committed transactions: at once if a caller waits, otherwise after `maxUnsyncedMs`. */
  #startSync(): void {
    if (this.#syncing || !this.#unsynced) return;
    if (this.#unsynced.length > 0) {
      this.#sync();
      return;
    }
    this.#syncLater ??= this.#time.setTimeout(() => {
      this.#syncLater = undefined;
      if (this.#unsynced && !this.#syncing) this.#sync();
    }, maxUnsyncedMs);
  }

  #sync(): void {
    const committed = this.#transaction - 1;
    this.#syncing = this.#unsynced ?? [];
    this.#unsynced = undefined;
    this.#walSync.sync((error) => this.#synced(committed, error));
  }

  /** Called when a sync has ended. `committed`: the newest transaction that it includes. */
  #synced(committed: number, error: Error | null): void {
    const waiters = this.#syncing ?? [];
    this.#syncing = undefined;
    if (error) {
      this.#handleSyncFailure(error, waiters);
      return;
    }
    this.#durable = committed;
    this.#failure = undefined;
    for (const waiter of waiters) waiter.resolve();
    if (this.#open) this.#scheduleCommit();
    else this.#startSync();
  }

  /**
   * Called when a sync has failed. The kernel may have dropped the pages, so a later successful sync would not show
   * that they are durable. Rejects everything that is not durable, and every write until the process is restarted.
   */
  #handleSyncFailure(error: Error, waiters: readonly Waiter[]): void {
    const cause = explainFailure(error, this.#path);
    this.#fatalError = new EmbeddedDatabaseError(`${cause.message} Restart the process.`, { cause });
    for (const waiter of [...waiters, ...(this.#unsynced ?? [])]) waiter.reject(this.#fatalError);
    this.#unsynced = undefined;
    if (this.#open) this.#fail(this.#fatalError);
    this.#failure = this.#fatalError.message;
  }

  /** Undoes the open transaction and rejects the promises that wait for it. */
  #fail(error: unknown): EmbeddedDatabaseError {
    const failure = explainFailure(error, this.#path);
    try {
      if (this.sql.isTransaction) this.#statements.rollback.run();
    } catch {
      // Already rolled back by SQLite itself.
    }
    const { waiters, commitWaiters } = this.#endTransaction();
    this.#failure = failure.message;
    this.#notifyUndone(false);
    for (const waiter of [...commitWaiters, ...waiters]) waiter.reject(failure);
    // Earlier commits are still valid and need a sync.
    this.#startSync();
    this.#probeLater();
    return failure;
  }

  /** `alone`: only the writes of the last `work` were undone. */
  #notifyUndone(alone: boolean): void {
    for (const participant of this.#participants) participant.undone(alone);
    for (const listener of this.#undoListeners) listener();
  }

  #endTransaction(): { waiters: Waiter[]; commitWaiters: Waiter[] } {
    const ended = { waiters: this.#waiters, commitWaiters: this.#commitWaiters };
    this.#waiters = [];
    this.#commitWaiters = [];
    this.#open = false;
    this.#transaction += 1;
    return ended;
  }

  #probeLater(): void {
    if (this.#probe || this.#closing) return;
    this.#probe = this.#time.setTimeout(() => {
      this.#probe = undefined;
      if (!this.#failure || this.#closing) return;
      this.write(() => this.#statements.probe.run()).catch(() => {
        // Still failing: #fail has stored the reason and scheduled the next probe.
      });
    }, probeAfterMs);
    this.#probe.unref();
  }

  async #close(): Promise<void> {
    this.#time.clearTimer(this.#probe);
    for (const listener of this.#closeListeners.reverse()) await listener();
    this.#closed = true;
    // A failure is reported to the callers that wait for the write.
    while (this.hasPendingWrites) await this.untilDurable().catch(() => {});
    this.#time.clearTimer(this.#syncLater);
    await this.#checkpointer.close();
    this.#walSync.close();
    this.sql.close();
    this.#unlock();
  }
}

/**
 * Gives only the owner access to the database file. SQLite creates its other files with the same mode. The mode of an
 * existing folder is not changed, because it may be a home directory.
 */
function restrictAccess(path: string): void {
  closeSync(openSync(path, 'a', 0o600));
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    try {
      if (existsSync(file)) chmodSync(file, 0o600);
    } catch {
      // The file belongs to another user, whose mode stays. This process may have access through a group.
    }
  }
}

function openSqlite(path: string): DatabaseSync {
  // Waits up to 500 ms for a lock, because another program may read the file. The cache is not larger because SQLite
  // searches the whole cache at most commits, for pages beyond the end of the file.
  const sql = new DatabaseSync(path, { timeout: 500 });
  try {
    sql.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = NORMAL;
      PRAGMA temp_store = MEMORY;
      PRAGMA cache_size = -16384;
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

/** True for SQLite errors of the file or the disk; false for errors of a statement or a constraint. */
function isDiskError(error: unknown): boolean {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  if (typeof code !== 'number') return false;
  // NOMEM 7, READONLY 8, IOERR 10, CORRUPT 11, FULL 13, CANTOPEN 14, NOTADB 26 (low byte: primary code).
  return [7, 8, 10, 11, 13, 14, 26].includes(code & 0xff);
}

function overloaded(): DomainError {
  return new DomainError('unavailable', 'The service is overloaded.', {
    internal: `${maxWaiting} callers wait for the disk already`,
    retryAfterMs: 1000,
  });
}

function closedError(): EmbeddedDatabaseError {
  return new EmbeddedDatabaseError('The embedded database is closed: the process is stopping.');
}
