import type { StatementSync } from 'node:sqlite';
import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { Document } from 'mongodb';
import type { Catalogue } from './catalogue.ts';
import type { EmbeddedDatabase } from './database.ts';
import type { DocumentCache } from './document-cache.ts';
import type { IndexBuffer } from './index-buffer.ts';
import { documentKeys, parseIndex } from './index-spec.ts';
import { IdTable, IndexTable } from './index-table.ts';
import { encodeKey } from './order.ts';
import { duplicateKey, serverError } from './store-errors.ts';
import { decodeDocument, encodeDocument } from './values.ts';

/** MongoDB's limit. */
const largestDocumentBytes = 16 * 1024 * 1024;

/** Maximum number of record numbers cached by `_id`, per collection. */
const mostKnownIds = 20_000;
/** Maximum number and size of recently inserted documents that are cached in decoded form, per collection. */
const mostRecent = 256;
const largestRecentBytes = 4096;

const idSpec = parseIndex({ key: { _id: 1 }, name: '_id_', unique: true });

/**
 * One collection's documents and index entries in SQLite; filters are applied by the engine. Each write is checked first
 * (duplicates, size), so a write that throws has changed nothing. Use writes inside `EmbeddedDatabase.write`.
 */
export class DocumentTable {
  readonly namespace: string;
  readonly number: number;
  readonly ids: IdTable;
  readonly indexes: IndexTable[];
  readonly #db: EmbeddedDatabase;
  readonly #catalogue: Catalogue;
  readonly #cache: DocumentCache;
  readonly #buffer: IndexBuffer;
  /** Record numbers by `_id`, for ids that are strings or integers. */
  readonly #rids = new Map<unknown, number>();
  /**
   * Recently inserted documents by record number. Some are changed at once, most are never read. They are not in the
   * cache, so that they do not evict documents that are read.
   */
  readonly #recent = new Map<number, Document>();
  #written = 0;
  readonly #statements: Record<
    'insert' | 'replace' | 'remove' | 'read' | 'ridOfId' | 'scan' | 'count',
    StatementSync
  >;

  constructor(
    db: EmbeddedDatabase,
    catalogue: Catalogue,
    cache: DocumentCache,
    buffer: IndexBuffer,
    namespace: string,
    number: number,
  ) {
    this.#db = db;
    this.#cache = cache;
    this.#buffer = buffer;
    this.#catalogue = catalogue;
    this.namespace = namespace;
    this.number = number;
    const table = `documents_${number}`;
    this.#statements = {
      insert: db.sql.prepare(`INSERT OR IGNORE INTO ${table} (id, document) VALUES (?, ?)`),
      replace: db.sql.prepare(`UPDATE ${table} SET document = ? WHERE rid = ?`),
      remove: db.sql.prepare(`DELETE FROM ${table} WHERE rid = ?`),
      read: db.sql.prepare(`SELECT document FROM ${table} WHERE rid = ?`),
      ridOfId: db.sql.prepare(`SELECT rid FROM ${table} WHERE id = ?`),
      scan: db.sql.prepare(`SELECT rid FROM ${table} WHERE rid > ? ORDER BY rid LIMIT ?`),
      count: db.sql.prepare(`SELECT count(*) AS count FROM ${table}`),
    };
    this.ids = new IdTable(db.sql, table, idSpec);
    this.indexes = catalogue
      .indexes(number)
      .map(
        ({ number: index, description, multikey }) =>
          new IndexTable(db.sql, buffer, index, parseIndex(description), multikey),
      );
  }

  count(): number {
    return (this.#statements.count.get() as { count: number }).count;
  }

  /** How many documents were written: a change that throws without another number has written nothing. */
  get written(): number {
    return this.#written;
  }

  /** The record number of the document with this `_id`. */
  ridOfId(id: unknown): number | undefined {
    const known = this.#rids.get(id);
    if (known !== undefined) return known;
    const row = this.#statements.ridOfId.get(encodeKey(id)) as { rid: number } | undefined;
    if (row) this.#know(id, row.rid);
    return row?.rid;
  }

  /** The document. It belongs to the cache: do not change it, and give callers a copy. */
  read(rid: number): Document | undefined {
    const cached = this.#recent.get(rid) ?? this.#cache.get(this.number, rid);
    if (cached) return cached;
    const row = this.#statements.read.get(rid) as { document: Uint8Array } | undefined;
    if (!row) return undefined;
    const document = decodeDocument(row.document);
    this.#cache.set(this.number, rid, document, row.document.length);
    return document;
  }

  /** All record numbers, in the order of insertion. */
  *scan(): Generator<number> {
    let last = 0;
    for (;;) {
      const page = this.#statements.scan.all(last, 256) as { rid: number }[];
      for (const { rid } of page) yield rid;
      if (page.length < 256) return;
      last = page[page.length - 1]?.rid as number;
    }
  }

  /** Inserts a normalised document with an `_id`. Throws error 11000 for a duplicate. */
  insert(document: Document): void {
    const id = encodeKey(document['_id']);
    const bytes = encode(document);
    const entries = this.indexes.map((index) => {
      const keys = documentKeys(index.spec, document);
      const error = this.#duplicate(index, keys.keys, undefined, document);
      // Where both are duplicates, MongoDB names the index of _id.
      if (error) throw this.ridOfId(document['_id']) === undefined ? error : this.#duplicateId(document);
      return { index, ...keys };
    });
    const inserted = this.#statements.insert.run(id, bytes);
    if (inserted.changes === 0) throw this.#duplicateId(document);
    this.#written += 1;
    const rid = Number(inserted.lastInsertRowid);
    for (const { index, keys, multikey } of entries) {
      if (multikey) this.#becomeMultikey(index);
      for (const key of keys) index.insert(key, rid);
    }
    // A deleted document may have had the number.
    this.#cache.delete(this.number, rid);
    // Texts cost more to remember, and most new ones are not looked for: they are remembered when they are.
    if (typeof document['_id'] === 'number') this.#know(document['_id'], rid);
    if (bytes.length > largestRecentBytes) return;
    if (this.#recent.size >= mostRecent) removeOldest(this.#recent);
    this.#recent.set(rid, document);
  }

  /**
   * Replaces `old` by `next`. Only the `touched` top-level fields differ. The cache keeps `next`, so the caller must not
   * change it afterwards. Throws error 11000 for a duplicate.
   */
  replace(rid: number, old: Document, next: Document, touched: readonly string[]): void {
    const bytes = encode(next);
    const changes: { index: IndexTable; gone: string[]; added: string[]; multikey: boolean }[] = [];
    for (const index of this.indexes) {
      if (!touched.some((field) => index.spec.fields.has(field))) continue;
      const before = documentKeys(index.spec, old).keys;
      const { keys: after, multikey } = documentKeys(index.spec, next);
      const added = without(after, before);
      const gone = without(before, after);
      if (added.length === 0 && gone.length === 0) continue;
      this.#refuseDuplicates(index, added, rid, next);
      changes.push({ index, gone, added, multikey });
    }
    this.#written += 1;
    this.#statements.replace.run(bytes, rid);
    this.#recent.delete(rid);
    for (const { index, gone, added, multikey } of changes) {
      if (multikey) this.#becomeMultikey(index);
      for (const key of gone) index.remove(key, rid);
      for (const key of added) index.insert(key, rid);
    }
    this.#cache.set(this.number, rid, next, bytes.length);
  }

  remove(rid: number, document: Document): void {
    this.#written += 1;
    this.#statements.remove.run(rid);
    this.#rids.delete(document['_id']);
    this.#recent.delete(rid);
    for (const index of this.indexes) {
      for (const key of documentKeys(index.spec, document).keys) index.remove(key, rid);
    }
    this.#cache.delete(this.number, rid);
  }

  /** Makes an index and fills it. Throws error 11000 when documents violate it: then undo the write. */
  addIndex(description: IndexDescription): void {
    const spec = parseIndex(description);
    const number = this.#catalogue.addIndex(this.number, spec.name, description);
    const index = new IndexTable(this.#db.sql, this.#buffer, number, spec, false);
    for (const rid of this.scan()) {
      const document = this.read(rid) as Document;
      const { keys, multikey } = documentKeys(spec, document);
      this.#refuseDuplicates(index, keys, rid, document);
      if (multikey) this.#becomeMultikey(index);
      for (const key of keys) index.fill(key, rid);
    }
    this.indexes.push(index);
  }

  /** Clears the caches of the collection after a rollback. */
  forget(): void {
    this.#cache.forget(this.number);
    this.#rids.clear();
    this.#recent.clear();
  }

  /** Strings and integers are equal to no value of another type, so the same `_id` is always the same key. */
  #know(id: unknown, rid: number): void {
    if (typeof id !== 'string' && !Number.isSafeInteger(id)) return;
    if (this.#rids.size >= mostKnownIds) removeOldest(this.#rids);
    this.#rids.set(id, rid);
  }

  #becomeMultikey(index: IndexTable): void {
    if (index.multikey) return;
    this.#catalogue.setMultikey(index.number);
    index.multikey = true;
  }

  #duplicateId({ _id }: Document): Error {
    return duplicateKey(this.namespace, '_id_', { _id: 1 }, { _id });
  }

  #refuseDuplicates(index: IndexTable, keys: readonly string[], rid: number, document: Document): void {
    const error = this.#duplicate(index, keys, rid, document);
    if (error) throw error;
  }

  /** The error 11000, when another document than `rid` has one of the keys. */
  #duplicate(
    index: IndexTable,
    keys: readonly string[],
    rid: number | undefined,
    document: Document,
  ): Error | undefined {
    if (!index.spec.unique) return undefined;
    for (const key of keys) {
      const holder = index.holder(key, rid);
      if (holder === undefined) continue;
      const values = Object.fromEntries(
        index.spec.parts.map(({ path, parts }) => [path, valueForMessage(document, parts)]),
      );
      return duplicateKey(this.namespace, index.spec.name, index.spec.key, values);
    }
    return undefined;
  }
}

function encode(document: Document): Uint8Array {
  const bytes = encodeDocument(document);
  if (bytes.length > largestDocumentBytes) {
    throw serverError(
      'badValue',
      `The document has ${bytes.length} bytes; the most is ${largestDocumentBytes}.`,
    );
  }
  return bytes;
}

function removeOldest<K>(map: Map<K, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}

function without(keys: readonly string[], others: readonly string[]): string[] {
  return keys.filter((key) => !others.includes(key));
}

function valueForMessage(document: Document, parts: readonly string[]): unknown {
  let value: unknown = document;
  for (const part of parts) value = (value as Document | null | undefined)?.[part];
  return value ?? null;
}
