import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type IndexBuffer, type PendingEntries, ridBytes } from './index-buffer.ts';
import type { IndexSpec } from './index-spec.ts';
import { afterPrefix } from './order.ts';
import type { KeyRange, PlannedIndex } from './planner.ts';

/** One entry of an index. */
export interface Entry {
  readonly key: Uint8Array;
  readonly rid: number;
}

/** Entries of a part of a range. */
export interface Page {
  readonly entries: readonly Entry[];
  /** The key up to which the range was read; undefined if all of it was read. */
  readonly readTo: Uint8Array | undefined;
}

/** An index that can be scanned in key order. */
export interface Scannable {
  /**
   * Returns about `size` entries of a range in the direction of the scan, after the key `from`. Undefined `from`:
   * from the beginning of the range. A page may be empty although the range has more entries.
   */
  page(range: KeyRange, reverse: boolean, from: Uint8Array | undefined, size: number): Page;
}

const firstPageSize = 16;
const maxPageSize = 512;

/**
 * A declared index in SQLite. An entry is a key followed by a record number, so entries are unique. Changes are
 * written to the table later (index-buffer.ts). Changes of a unique index are written at once, because the table is
 * used to check each new entry.
 */
export class IndexTable implements PlannedIndex, Scannable {
  readonly spec: IndexSpec;
  readonly number: number;
  multikey: boolean;
  readonly #pending: PendingEntries;
  readonly #insert: StatementSync;
  readonly #remove: StatementSync;
  readonly #ascending: StatementSync;
  readonly #descending: StatementSync;

  constructor(sql: DatabaseSync, buffer: IndexBuffer, number: number, spec: IndexSpec, multikey: boolean) {
    this.spec = spec;
    this.number = number;
    this.multikey = multikey;
    this.#pending = buffer.of(number);
    const table = `index_${number}`;
    this.#insert = sql.prepare(`INSERT INTO ${table} (entry) VALUES (?)`);
    this.#remove = sql.prepare(`DELETE FROM ${table} WHERE entry = ?`);
    this.#ascending = sql.prepare(
      `SELECT entry FROM ${table} WHERE entry >= ? AND entry < ? ORDER BY entry LIMIT ?`,
    );
    this.#descending = sql.prepare(
      `SELECT entry FROM ${table} WHERE entry >= ? AND entry < ? ORDER BY entry DESC LIMIT ?`,
    );
  }

  insert(key: string, rid: number): void {
    if (this.spec.unique) this.#insert.run(bytesOf(entryOf(key, rid)));
    else this.#pending.change(entryOf(key, rid), rid, true);
  }

  remove(key: string, rid: number): void {
    if (this.spec.unique) this.#remove.run(bytesOf(entryOf(key, rid)));
    else this.#pending.change(entryOf(key, rid), rid, false);
  }

  /** Inserts directly into the table, to fill a new index. */
  fill(key: string, rid: number): void {
    this.#insert.run(bytesOf(entryOf(key, rid)));
  }

  /**
   * The record number of a document, other than `except`, with the key of a unique index; undefined if there is none.
   */
  holder(key: string, except: number | undefined): number | undefined {
    const prefix = bytesOf(key);
    const rows = this.#ascending.all(prefix, afterPrefix(prefix), 2) as { entry: Uint8Array }[];
    for (const { entry } of rows) {
      const rid = ridOf(entry);
      if (rid !== except) return rid;
    }
    return undefined;
  }

  page(range: KeyRange, reverse: boolean, from: Uint8Array | undefined, size: number): Page {
    const lower = from && !reverse ? nextKey(from) : range.lower;
    const upper = from && reverse ? from : range.upper;
    const rows = (reverse ? this.#descending : this.#ascending).all(lower, upper, size) as {
      entry: Uint8Array;
    }[];
    const readTo = rows.length < size ? undefined : rows[rows.length - 1]?.entry;
    if (!this.#pending.isEmpty) {
      const pending = this.#pending.changedBetween(
        latin1(reverse && readTo ? readTo : lower),
        latin1(!reverse && readTo ? nextKey(readTo) : upper),
      );
      if (pending.length > 0) return { entries: this.#merged(rows, pending, reverse), readTo };
    }
    return { entries: rows.map(({ entry }) => ({ key: entry, rid: ridOf(entry) })), readTo };
  }

  #merged(rows: readonly { entry: Uint8Array }[], pending: readonly string[], reverse: boolean): Entry[] {
    const entries = new Set(rows.map(({ entry }) => latin1(entry)));
    for (const entry of pending) {
      if (this.#pending.has(entry)) entries.add(entry);
      else entries.delete(entry);
    }
    const sorted = [...entries].sort();
    if (reverse) sorted.reverse();
    return sorted.map((entry) => {
      const key = bytesOf(entry);
      return { key, rid: ridOf(key) };
    });
  }
}

/** The unique index on `_id` of each collection. */
export class IdTable implements PlannedIndex, Scannable {
  readonly spec: IndexSpec;
  readonly multikey = false;
  readonly #ascending: StatementSync;
  readonly #descending: StatementSync;

  constructor(sql: DatabaseSync, table: string, spec: IndexSpec) {
    this.spec = spec;
    const select = `SELECT id, rid FROM ${table} WHERE id >= ? AND id < ?`;
    this.#ascending = sql.prepare(`${select} ORDER BY id LIMIT ?`);
    this.#descending = sql.prepare(`${select} ORDER BY id DESC LIMIT ?`);
  }

  page(range: KeyRange, reverse: boolean, from: Uint8Array | undefined, size: number): Page {
    const rows = (
      reverse
        ? this.#descending.all(range.lower, from ?? range.upper, size)
        : this.#ascending.all(from ? nextKey(from) : range.lower, range.upper, size)
    ) as { id: Uint8Array; rid: number }[];
    const readTo = rows.length < size ? undefined : rows[rows.length - 1]?.id;
    return { entries: rows.map(({ id, rid }) => ({ key: id, rid })), readTo };
  }
}

/** Scans one range, page by page. Each page is a separate query after the last key, so writes may happen in between. */
export function* scanRange(index: Scannable, range: KeyRange, reverse: boolean): Generator<Entry> {
  let from: Uint8Array | undefined;
  for (let size = firstPageSize; ; size = Math.min(size * 2, maxPageSize)) {
    const { entries, readTo } = index.page(range, reverse, from, size);
    yield* entries;
    if (!readTo) return;
    from = readTo;
  }
}

/** Scans several ranges and merges their entries by the part of the key after the prefix of the range. */
export function* scanMerged(
  index: Scannable,
  ranges: readonly KeyRange[],
  reverse: boolean,
): Generator<Entry> {
  const heads: { suffix: Uint8Array; entry: Entry; rest: Generator<Entry> }[] = [];
  const advance = (rest: Generator<Entry>, prefixLength: number) => {
    const next = rest.next();
    return next.done
      ? undefined
      : { suffix: next.value.key.subarray(prefixLength), entry: next.value, rest, prefixLength };
  };
  for (const range of ranges) {
    const head = advance(scanRange(index, range, reverse), range.prefixLength);
    if (head) heads.push(head);
  }
  const direction = reverse ? -1 : 1;
  while (heads.length > 0) {
    let smallest = 0;
    for (let i = 1; i < heads.length; i++) {
      const order = Buffer.compare(heads[i]?.suffix as Uint8Array, heads[smallest]?.suffix as Uint8Array);
      if (order * direction < 0) smallest = i;
    }
    const head = heads[smallest] as (typeof heads)[number];
    yield head.entry;
    const next = advance(head.rest, head.entry.key.length - head.suffix.length);
    if (next) heads[smallest] = next;
    else heads.splice(smallest, 1);
  }
}

/** The entry as latin1: a key, then the record number in `ridBytes` bytes. */
function entryOf(key: string, rid: number): string {
  if (rid !== lastRid) {
    ridWriter.writeUIntBE(rid, 0, ridBytes);
    lastRid = rid;
    lastRidText = ridWriter.toString('latin1');
  }
  return key + lastRidText;
}
// The text of the last record number is cached, because a document has entries in several indexes.
const ridWriter = Buffer.alloc(ridBytes);
let lastRid = 0;
let lastRidText = ridWriter.toString('latin1');

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

function ridOf(entry: Uint8Array): number {
  return Buffer.from(entry.buffer, entry.byteOffset, entry.byteLength).readUIntBE(
    entry.length - ridBytes,
    ridBytes,
  );
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

/** The smallest key above this one. */
function nextKey(key: Uint8Array): Uint8Array {
  const next = new Uint8Array(key.length + 1);
  next.set(key);
  return next;
}
