import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { IndexSpec } from './index-spec.ts';
import { afterPrefix } from './order.ts';
import type { KeyRange, PlannedIndex } from './planner.ts';

/** One entry of an index. */
export interface Entry {
  readonly key: Uint8Array;
  readonly rid: number;
}

/** An index whose keys can be scanned in order. */
export interface Scannable {
  /**
   * At most `size` entries of a range, in the scan's direction, after the key `from` (undefined: from the
   * beginning of the range).
   */
  page(range: KeyRange, reverse: boolean, from: Uint8Array | undefined, size: number): Entry[];
}

/** Bytes of the record number at the end of an entry. */
const ridBytes = 6;
const firstPage = 16;
const largestPage = 512;

/** A declared index in SQLite. An entry is a key followed by the record number, so no two are equal. */
export class IndexTable implements PlannedIndex, Scannable {
  readonly spec: IndexSpec;
  readonly number: number;
  multikey: boolean;
  readonly #insert: StatementSync;
  readonly #remove: StatementSync;
  readonly #ascending: StatementSync;
  readonly #descending: StatementSync;

  constructor(sql: DatabaseSync, number: number, spec: IndexSpec, multikey: boolean) {
    this.spec = spec;
    this.number = number;
    this.multikey = multikey;
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

  insert(key: Uint8Array, rid: number): void {
    this.#insert.run(entryOf(key, rid));
  }

  remove(key: Uint8Array, rid: number): void {
    this.#remove.run(entryOf(key, rid));
  }

  /** The record number of a document, other than `except`, that has the key; undefined when none has. */
  holder(key: Uint8Array, except: number | undefined): number | undefined {
    const rows = this.#ascending.all(key, afterPrefix(key), 2) as { entry: Uint8Array }[];
    for (const { entry } of rows) {
      const rid = ridOf(entry);
      if (rid !== except) return rid;
    }
    return undefined;
  }

  page(range: KeyRange, reverse: boolean, from: Uint8Array | undefined, size: number): Entry[] {
    const rows = (
      reverse
        ? this.#descending.all(range.lower, from ?? range.upper, size)
        : this.#ascending.all(from ? following(from) : range.lower, range.upper, size)
    ) as { entry: Uint8Array }[];
    return rows.map(({ entry }) => ({ key: entry, rid: ridOf(entry) }));
  }
}

/** The unique index on `_id` that each collection has. */
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

  page(range: KeyRange, reverse: boolean, from: Uint8Array | undefined, size: number): Entry[] {
    const rows = (
      reverse
        ? this.#descending.all(range.lower, from ?? range.upper, size)
        : this.#ascending.all(from ? following(from) : range.lower, range.upper, size)
    ) as { id: Uint8Array; rid: number }[];
    return rows.map(({ id, rid }) => ({ key: id, rid }));
  }
}

/** Scans one range, page by page. Each page is a query of its own from the last key, so writes may happen between. */
export function* scanRange(index: Scannable, range: KeyRange, reverse: boolean): Generator<Entry> {
  let from: Uint8Array | undefined;
  for (let size = firstPage; ; size = Math.min(size * 2, largestPage)) {
    const page = index.page(range, reverse, from, size);
    yield* page;
    if (page.length < size) return;
    from = page[page.length - 1]?.key;
  }
}

/** Scans several ranges and merges them by the parts of their keys that follow the prefixes. */
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
    let least = 0;
    for (let i = 1; i < heads.length; i++) {
      const order = Buffer.compare(heads[i]?.suffix as Uint8Array, heads[least]?.suffix as Uint8Array);
      if (order * direction < 0) least = i;
    }
    const head = heads[least] as (typeof heads)[number];
    yield head.entry;
    const next = advance(head.rest, head.entry.key.length - head.suffix.length);
    if (next) heads[least] = next;
    else heads.splice(least, 1);
  }
}

function entryOf(key: Uint8Array, rid: number): Uint8Array {
  const entry = Buffer.allocUnsafe(key.length + ridBytes);
  entry.set(key);
  entry.writeUIntBE(rid, key.length, ridBytes);
  return entry;
}

function ridOf(entry: Uint8Array): number {
  return Buffer.from(entry.buffer, entry.byteOffset, entry.byteLength).readUIntBE(
    entry.length - ridBytes,
    ridBytes,
  );
}

/** The smallest key above this one. */
function following(key: Uint8Array): Uint8Array {
  const next = new Uint8Array(key.length + 1);
  next.set(key);
  return next;
}
