import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import type { EmbeddedDatabase, Participant } from './database.ts';

/**
 * Minimum delay before changed index entries are written to their tables; milliseconds. The maximum is twice as long.
 */
const defaultDelayMs = 250;
/** Number of changes after which they are written without the delay. They take some megabytes of memory. */
const maxChanges = 16_384;
/** Maximum number of entries that one statement adds. */
const rowsPerInsert = 16;
/** Bytes of the record number at the end of an entry. */
export const ridBytes = 6;
/** Bytes before the entry of each change in the journal: index number with kind of change, and length of the entry. */
const headerBytes = 8;

/**
 * States of a pending entry:
 * - `added`, `removed`: the table is known to differ. The opposite change makes both equal, so nothing has to be
 *   written.
 * - `present`, `absent`: the entry exists or not, but it is unknown whether the table has it (after the journal was
 *   read).
 */
const added = 1;
const removed = 2;
const present = 3;
const absent = 4;
type EntryState = typeof added | typeof removed | typeof present | typeof absent;

/** A pending entry with its state, and the next pending entry of the same document. */
interface Pending {
  readonly entry: string;
  state: EntryState;
  readonly next: Pending | undefined;
}

/** Pending entries by record number, because looking up a number is faster than looking up a text. */
class PendingMap {
  readonly #byRid = new Map<number, Pending>();

  get size(): number {
    return this.#byRid.size;
  }

  find(entry: string, rid: number): Pending | undefined {
    if (this.#byRid.size === 0) return undefined;
    let pending = this.#byRid.get(rid);
    while (pending && pending.entry !== entry) pending = pending.next;
    return pending;
  }

  add(entry: string, rid: number, state: EntryState): void {
    this.#byRid.set(rid, { entry, state, next: this.#byRid.get(rid) });
  }

  delete(entry: string, rid: number): void {
    const left = without(this.#byRid.get(rid), entry);
    if (left) this.#byRid.set(rid, left);
    else this.#byRid.delete(rid);
  }

  clear(): void {
    this.#byRid.clear();
  }

  *entries(): Generator<string> {
    for (const first of this.#byRid.values()) {
      for (let pending: Pending | undefined = first; pending; pending = pending.next) yield pending.entry;
    }
  }
}

function without(list: Pending | undefined, entry: string): Pending | undefined {
  if (!list || list.entry === entry) return list?.next;
  return { ...list, next: without(list.next, entry) };
}

/**
 * Changes of one index that are not in its table yet. Entries are latin1 texts: a key and a record number. Old entries
 * are written at the next rotation, young entries at the rotation after it.
 */
export class PendingEntries {
  readonly #buffer: IndexBuffer;
  readonly #number: number;
  #young = new PendingMap();
  #old = new PendingMap();
  /** All pending entries in order; undefined after a change. Sorted only at the second read after a change. */
  #sorted: string[] | undefined;
  #wasRead = false;

  constructor(buffer: IndexBuffer, number: number) {
    this.#buffer = buffer;
    this.#number = number;
  }

  /** True if no entry is pending. */
  get isEmpty(): boolean {
    this.#buffer.refresh();
    return this.#young.size + this.#old.size === 0;
  }

  /** Adds or removes the entry of a document, in memory and in the journal. Call in a write. */
  change(entry: string, rid: number, isAdded: boolean): void {
    this.#buffer.addToJournal(this.#number, entry, isAdded);
    this.apply(entry, rid, isAdded);
  }

  /** True if the entry exists, false if it was removed; undefined if the entry is not pending: then read the table. */
  has(entry: string): boolean | undefined {
    const rid = ridIn(entry);
    const pending = this.#young.find(entry, rid) ?? this.#old.find(entry, rid);
    return pending && (pending.state === added || pending.state === present);
  }

  /** Pending entries from `lower` (inclusive) to `upper` (exclusive), in order. */
  changedBetween(lower: string, upper: string): readonly string[] {
    if (!this.#wasRead) {
      this.#wasRead = true;
      const found: string[] = [];
      for (const entry of this.#all()) if (entry >= lower && entry < upper) found.push(entry);
      return found.sort();
    }
    this.#sorted ??= [...this.#all()].sort();
    return this.#sorted.slice(firstFrom(this.#sorted, lower), firstFrom(this.#sorted, upper));
  }

  /** Changes the entries in memory, without the journal. */
  apply(entry: string, rid: number, isAdded: boolean): void {
    this.#sorted = undefined;
    this.#wasRead = false;
    let map = this.#young;
    let pending = map.find(entry, rid);
    if (!pending) {
      map = this.#old;
      pending = map.find(entry, rid);
    }
    if (!pending) this.#young.add(entry, rid, isAdded ? added : removed);
    else if (pending.state === (isAdded ? removed : added)) map.delete(entry, rid);
    else if (pending.state === (isAdded ? absent : present)) pending.state = isAdded ? present : absent;
  }

  /** Applies a change from the journal. The table may contain it already. */
  replay(entry: string, isAdded: boolean): void {
    const rid = ridIn(entry);
    const state = isAdded ? present : absent;
    const pending = this.#old.find(entry, rid);
    if (pending) pending.state = state;
    else this.#old.add(entry, rid, state);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#sorted = undefined;
  }

  /** Writes the old entries to the table. Then the young entries become the old entries. */
  rotate(table: IndexWriter): void {
    // Sorted, so that entries on the same page of the table are changed one after the other.
    const entries = [...this.#old.entries()].sort();
    table.put(entries.filter((entry) => this.has(entry)));
    table.drop(entries.filter((entry) => !this.has(entry)));
    this.#sorted = undefined;
    this.#old.clear();
    [this.#old, this.#young] = [this.#young, this.#old];
  }

  *#all(): Generator<string> {
    yield* this.#young.entries();
    yield* this.#old.entries();
  }
}

/**
 * Delays writes of changed index entries (ADR 0051), because most entries are removed again after a short time. Each
 * transaction writes its changes as one row of a journal. At each rotation, the changes that are at least `delayMs`
 * old and still needed are written to the tables of the indexes, and their journal rows are deleted. After a crash,
 * `recover` applies the journal to the tables.
 */
export class IndexBuffer implements Participant {
  readonly #db: EmbeddedDatabase;
  readonly #delayMs: number;
  readonly #time: Time;
  readonly #statements: Record<'add' | 'trim' | 'read', StatementSync>;
  readonly #indexes = new Map<number, { pending: PendingEntries; table: IndexWriter }>();
  /** Changes of the open transaction, in the journal's format. */
  #changes = Buffer.allocUnsafe(16 * 1024);
  #length = 0;
  #markedLength = 0;
  /** Number of the newest row of the journal. */
  #newestRow = 0;
  /** Number of the newest row whose changes are all old. The next rotation deletes the rows up to it. */
  #newestOldRow = 0;
  #changeCount = 0;
  #rotationDue = false;
  /** Set when writes were undone. Then the pending entries must be read from the journal again. */
  #stale = false;
  #timer: Timer | undefined;

  /** The journal's table must exist (`createJournal`). */
  constructor(db: EmbeddedDatabase, delayMs = defaultDelayMs, time: Time = systemTime) {
    this.#db = db;
    this.#delayMs = delayMs;
    this.#time = time;
    this.#statements = {
      add: db.sql.prepare('INSERT INTO store_index_journal (number, changes) VALUES (?, ?)'),
      trim: db.sql.prepare('DELETE FROM store_index_journal WHERE number <= ?'),
      read: db.sql.prepare('SELECT number, changes FROM store_index_journal ORDER BY number'),
    };
    recover(db.sql, this.#statements.read.all() as unknown as JournalRow[]);
    db.addParticipant(this);
    db.onClose(() => this.#writeAll());
  }

  /** Changes of an index that are not in its table yet. */
  of(number: number): PendingEntries {
    return this.#of(number).pending;
  }

  mark(): void {
    this.#markedLength = this.#length;
  }

  beforeCommit(): void {
    this.refresh();
    if (this.#length > 0) {
      this.#newestRow += 1;
      this.#statements.add.run(this.#newestRow, this.#changes.subarray(0, this.#length));
      this.#length = 0;
    }
    if (this.#rotationDue || this.#changeCount > maxChanges) this.#rotate();
  }

  undone(alone: boolean): void {
    this.#length = alone ? this.#markedLength : 0;
    this.#stale = true;
  }

  /** Adds a change to the journal. */
  addToJournal(number: number, entry: string, isAdded: boolean): void {
    this.refresh();
    const { length } = entry;
    const at = this.#length;
    this.#reserve(at + headerBytes + length);
    this.#length = at + headerBytes + length;
    this.#changes.writeUInt32BE(number * 2 + (isAdded ? 1 : 0), at);
    this.#changes.writeUInt32BE(length, at + 4);
    this.#changes.write(entry, at + headerBytes, length, 'latin1');
    this.#changeCount += 1;
    this.#rotateLater();
  }

  /** Reads the journal again if writes were undone since the last time. */
  refresh(): void {
    if (!this.#stale) return;
    for (const { pending } of this.#indexes.values()) pending.clear();
    for (const { number, changes } of this.#statements.read.all() as unknown as JournalRow[]) {
      this.#newestRow = Math.max(this.#newestRow, number);
      for (const { index, entry, isAdded } of changesIn(changes)) this.of(index).replay(entry, isAdded);
    }
    this.#newestOldRow = this.#newestRow;
    for (const { index, entry, isAdded } of changesIn(this.#changes.subarray(0, this.#length))) {
      this.of(index).apply(entry, ridIn(entry), isAdded);
    }
    this.#stale = false;
    this.#rotateLater();
  }

  #of(number: number): { pending: PendingEntries; table: IndexWriter } {
    let known = this.#indexes.get(number);
    if (!known) {
      known = { pending: new PendingEntries(this, number), table: new IndexWriter(this.#db.sql, number) };
      this.#indexes.set(number, known);
    }
    return known;
  }

  #rotate(): void {
    this.#rotationDue = false;
    this.#changeCount = 0;
    let isEmpty = true;
    for (const { pending, table } of this.#indexes.values()) {
      if (pending.isEmpty) continue;
      pending.rotate(table);
      isEmpty &&= pending.isEmpty;
    }
    this.#statements.trim.run(this.#newestOldRow);
    this.#newestOldRow = this.#newestRow;
    if (!isEmpty) this.#rotateLater();
  }

  #rotateLater(): void {
    this.#timer ??= this.#time.setTimeout(() => {
      this.#timer = undefined;
      // The callers that write get the failure. The next change schedules another rotation.
      this.#rotateNow().catch(() => {});
    }, this.#delayMs);
    this.#timer.unref();
  }

  #rotateNow(): Promise<void> {
    return this.#db.writeWithoutSavepoint(() => {
      this.#rotationDue = true;
    }, 'in-order');
  }

  /** Writes all changes to the tables. */
  async #writeAll(): Promise<void> {
    // Twice: for the old and the young entries. After a failure the changes stay in the journal.
    for (let i = 0; i < 2; i++) await this.#rotateNow().catch(() => {});
    this.#time.clearTimer(this.#timer);
  }

  #reserve(length: number): void {
    if (length <= this.#changes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#changes.length * 2, length));
    grown.set(this.#changes.subarray(0, this.#length));
    this.#changes = grown;
  }
}

interface JournalRow {
  readonly number: number;
  readonly changes: Uint8Array;
}

/** Creates the journal's table if it is missing. */
export function createJournal(sql: DatabaseSync): void {
  sql.exec(
    'CREATE TABLE IF NOT EXISTS store_index_journal (number INTEGER PRIMARY KEY, changes BLOB NOT NULL)',
  );
}

/** Adds and removes entries in the table of an index. The table must exist at the first write. */
class IndexWriter {
  readonly #sql: DatabaseSync;
  readonly #number: number;
  #statements: Record<'put' | 'putSome' | 'drop', StatementSync> | undefined;

  constructor(sql: DatabaseSync, number: number) {
    this.#sql = sql;
    this.#number = number;
  }

  put(entries: readonly string[]): void {
    if (entries.length === 0) return;
    const { put, putSome } = this.#prepared();
    const bytes = entries.map((entry) => Buffer.from(entry, 'latin1'));
    let at = 0;
    for (; at + rowsPerInsert <= bytes.length; at += rowsPerInsert)
      putSome.run(...bytes.slice(at, at + rowsPerInsert));
    for (; at < bytes.length; at++) put.run(bytes[at] as Buffer);
  }

  drop(entries: readonly string[]): void {
    if (entries.length === 0) return;
    const { drop } = this.#prepared();
    for (const entry of entries) drop.run(Buffer.from(entry, 'latin1'));
  }

  #prepared(): Record<'put' | 'putSome' | 'drop', StatementSync> {
    const table = `index_${this.#number}`;
    const insert = `INSERT OR IGNORE INTO ${table} (entry) VALUES (?)`;
    this.#statements ??= {
      put: this.#sql.prepare(insert),
      putSome: this.#sql.prepare(insert + ', (?)'.repeat(rowsPerInsert - 1)),
      drop: this.#sql.prepare(`DELETE FROM ${table} WHERE entry = ?`),
    };
    return this.#statements;
  }
}

/**
 * Applies a journal to the tables of the indexes, and empties it. The tables may contain some of the changes already.
 */
function recover(sql: DatabaseSync, rows: readonly JournalRow[]): void {
  if (rows.length === 0) return;
  const writers = new Map<number, IndexWriter>();
  sql.exec('BEGIN IMMEDIATE');
  try {
    for (const { changes } of rows) {
      for (const { index, entry, isAdded } of changesIn(changes)) {
        const writer = writers.get(index) ?? new IndexWriter(sql, index);
        writers.set(index, writer);
        if (isAdded) writer.put([entry]);
        else writer.drop([entry]);
      }
    }
    sql.exec('DELETE FROM store_index_journal; COMMIT');
  } catch (error) {
    if (sql.isTransaction) sql.exec('ROLLBACK');
    throw error;
  }
}

function* changesIn(
  changes: Uint8Array,
): Generator<{ readonly index: number; readonly entry: string; readonly isAdded: boolean }> {
  const bytes = Buffer.from(changes.buffer, changes.byteOffset, changes.byteLength);
  for (let at = 0; at < bytes.length; ) {
    const header = bytes.readUInt32BE(at);
    const start = at + headerBytes;
    const end = start + bytes.readUInt32BE(at + 4);
    yield {
      index: Math.floor(header / 2),
      entry: bytes.toString('latin1', start, end),
      isAdded: header % 2 === 1,
    };
    at = end;
  }
}

/** The record number at the end of an entry. */
function ridIn(entry: string): number {
  let rid = 0;
  for (let i = entry.length - ridBytes; i < entry.length; i++) rid = rid * 256 + entry.charCodeAt(i);
  return rid;
}

/** Index of the first entry that is not less than `bound`. */
function firstFrom(entries: readonly string[], bound: string): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle] as string) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
