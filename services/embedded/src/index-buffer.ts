import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import type { EmbeddedDatabase, Participant } from './database.ts';

/** Minimum delay before changes of indexes are written to their tables; the maximum is twice as long. */
const defaultDelayMs = 250;
/** Number of changes that are written without the delay; they take some megabytes. */
const mostChanges = 16_384;
/** Maximum number of entries that one statement adds. */
const rowsAtOnce = 16;
/** Bytes of the record number at the end of an entry. */
export const ridBytes = 6;
/** Bytes before each change in the journal: the index with the kind of change, and the entry's length. */
const headBytes = 8;

/**
 * State of an entry that may differ from its table. `added` and `removed` only if the table is known to
 * differ, so that the opposite change leaves nothing to write.
 */
const added = 1;
const removed = 2;
const present = 3;
const absent = 4;
type Standing = typeof added | typeof removed | typeof present | typeof absent;

/** The state of an entry, and the next entry of the same document. */
interface Pending {
  readonly entry: string;
  standing: Standing;
  readonly next: Pending | undefined;
}

/** Pending entries by record number: lookups of numbers are faster than of texts. */
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

  add(entry: string, rid: number, standing: Standing): void {
    this.#byRid.set(rid, { entry, standing, next: this.#byRid.get(rid) });
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

/** Changes of one index that are not in its table yet. */
export class PendingEntries {
  readonly #buffer: IndexBuffer;
  readonly #number: number;
  #young = new PendingMap();
  #old = new PendingMap();
  /** All pending entries in order; undefined after a change. Built only at the second request. */
  #sorted: string[] | undefined;
  #asked = false;

  constructor(buffer: IndexBuffer, number: number) {
    this.#buffer = buffer;
    this.#number = number;
  }

  /** True if the table has all entries. */
  get isEmpty(): boolean {
    this.#buffer.refresh();
    return this.#young.size + this.#old.size === 0;
  }

  /** Adds or removes the entry of a document, as latin1; call in a write. */
  change(entry: string, rid: number, isAdded: boolean): void {
    this.#buffer.note(this.#number, entry, isAdded);
    this.apply(entry, rid, isAdded);
  }

  /** True if the entry exists, false if it was removed; undefined if only the table knows. */
  has(entry: string): boolean | undefined {
    const rid = ridIn(entry);
    const pending = this.#young.find(entry, rid) ?? this.#old.find(entry, rid);
    return pending && (pending.standing === added || pending.standing === present);
  }

  /** Entries from `lower` up to but excluding `upper` that differ from the table, in order. */
  between(lower: string, upper: string): readonly string[] {
    if (!this.#asked) {
      this.#asked = true;
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
    this.#asked = false;
    let map = this.#young;
    let pending = map.find(entry, rid);
    if (!pending) {
      map = this.#old;
      pending = map.find(entry, rid);
    }
    if (!pending) this.#young.add(entry, rid, isAdded ? added : removed);
    else if (pending.standing === (isAdded ? removed : added)) map.delete(entry, rid);
    else if (pending.standing === (isAdded ? absent : present)) pending.standing = isAdded ? present : absent;
  }

  /** Applies an entry of the journal, which the table may have already. */
  replay(entry: string, isAdded: boolean): void {
    const rid = ridIn(entry);
    const standing = isAdded ? present : absent;
    const pending = this.#old.find(entry, rid);
    if (pending) pending.standing = standing;
    else this.#old.add(entry, rid, standing);
  }

  forget(): void {
    this.#young.clear();
    this.#old.clear();
    this.#sorted = undefined;
  }

  /** Writes the old entries; then the young entries become the old ones. */
  rotate(table: IndexWriter): void {
    // In order, so that neighbours are changed while their page is cached.
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
 * Delays writes of changed index entries (ADR 0051): most entries of a job are removed again before a write would pay
 * off. Each transaction writes its changes as one row of a journal. A quarter to half a second later the remaining
 * changes are written to the indexes' tables, in the order of the entries, and their rows are removed. `recover`
 * applies the journal of a killed process to the tables.
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
  /** Number of the journal's newest row; below, of the newest row that has only old changes. */
  #newest = 0;
  #boundary = 0;
  #changed = 0;
  #due = false;
  /** Set when writes were undone: the pending entries are read from the journal again. */
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
    db.takePart(this);
    db.onClose(() => this.#empty());
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
      this.#newest += 1;
      this.#statements.add.run(this.#newest, this.#changes.subarray(0, this.#length));
      this.#length = 0;
    }
    if (this.#due || this.#changed > mostChanges) this.#rotate();
  }

  undone(alone: boolean): void {
    this.#length = alone ? this.#markedLength : 0;
    this.#stale = true;
  }

  /** Adds a change to the journal. */
  note(number: number, entry: string, isAdded: boolean): void {
    this.refresh();
    const { length } = entry;
    const at = this.#length;
    this.#reserve(at + headBytes + length);
    this.#length = at + headBytes + length;
    this.#changes.writeUInt32BE(number * 2 + (isAdded ? 1 : 0), at);
    this.#changes.writeUInt32BE(length, at + 4);
    this.#changes.write(entry, at + headBytes, length, 'latin1');
    this.#changed += 1;
    this.#rotateLater();
  }

  /** Reads the journal again if writes were undone since the last time. */
  refresh(): void {
    if (!this.#stale) return;
    for (const { pending } of this.#indexes.values()) pending.forget();
    for (const { number, changes } of this.#statements.read.all() as unknown as JournalRow[]) {
      this.#newest = Math.max(this.#newest, number);
      for (const { index, entry, isAdded } of changesIn(changes)) this.of(index).replay(entry, isAdded);
    }
    this.#boundary = this.#newest;
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
    this.#due = false;
    this.#changed = 0;
    let isEmpty = true;
    for (const { pending, table } of this.#indexes.values()) {
      if (pending.isEmpty) continue;
      pending.rotate(table);
      isEmpty &&= pending.isEmpty;
    }
    this.#statements.trim.run(this.#boundary);
    this.#boundary = this.#newest;
    if (!isEmpty) this.#rotateLater();
  }

  #rotateLater(): void {
    this.#timer ??= this.#time.setTimeout(() => {
      this.#timer = undefined;
      // The writers get the failure; the next change schedules another try.
      this.#rotateNow().catch(() => {});
    }, this.#delayMs);
    this.#timer.unref();
  }

  #rotateNow(): Promise<void> {
    return this.#db.writeWhole(() => {
      this.#due = true;
    }, 'in-order');
  }

  /** Writes all changes to the tables. */
  async #empty(): Promise<void> {
    // Failed changes stay in the journal.
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

/** Adds and removes entries of an index's table, which exists by the time of the first write. */
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
    for (; at + rowsAtOnce <= bytes.length; at += rowsAtOnce)
      putSome.run(...bytes.slice(at, at + rowsAtOnce));
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
      putSome: this.#sql.prepare(insert + ', (?)'.repeat(rowsAtOnce - 1)),
      drop: this.#sql.prepare(`DELETE FROM ${table} WHERE entry = ?`),
    };
    return this.#statements;
  }
}

/** Applies a journal to the indexes' tables, and empties it; a table may have part of it already. */
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
    const head = bytes.readUInt32BE(at);
    const start = at + headBytes;
    const end = start + bytes.readUInt32BE(at + 4);
    yield {
      index: Math.floor(head / 2),
      entry: bytes.toString('latin1', start, end),
      isAdded: head % 2 === 1,
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

/** The position of the first entry that is not below `bound`. */
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
