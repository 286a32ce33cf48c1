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
const maxDocumentBytes = 16 * 1024 * 1024;

/** Maximum number of record numbers cached by `_id`, per collection. */
const maxKnownIds = 20_000;
/** Maximum number and size of recently inserted documents that are cached in decoded form, per collection. */
const maxRecent = 256;
const maxRecentBytes = 4096;

const idSpec = parseIndex({ key: { _id: 1 }, name: '_id_', unique: true });

/**
 * One collection's documents and index entries in SQLite. A document is identified by its record number (`rid`), the
 * row id in SQLite. Each write is checked first (duplicates, size), so a write that throws has changed nothing. Call
 * writes inside `EmbeddedDatabase.write`. The engine applies filters.
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
   * Recently inserted documents by record number. A few are changed soon, but most are never read. They are kept
   * outside the cache, so that they do not evict documents that are read.
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

  /**
   * Number of writes so far. If a change throws and this number is the same as before, the change has written
   * nothing.
   */
  get written(): number {
    return this.#written;
  }

  /** The record number of the document with this `_id`; undefined if there is none. */
  ridOfId(id: unknown): number | undefined {
    const known = this.#rids.get(id);
    if (known !== undefined) return known;
    const row = this.#statements.ridOfId.get(encodeKey(id)) as { rid: number } | undefined;
    if (row) this.#rememberRid(id, row.rid);
    return row?.rid;
  }

  /** Returns the document. The cache shares it: do not change it, and return only copies to callers of the store. */
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
      // If the `_id` is a duplicate as well, MongoDB reports the index of `_id`.
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
    // SQLite may reuse the record number of a deleted document.
    this.#cache.delete(this.number, rid);
    // A new text id is remembered only when it is read: texts need more memory, and most new documents are not read
    // by id.
    if (typeof document['_id'] === 'number') this.#rememberRid(document['_id'], rid);
    if (bytes.length > maxRecentBytes) return;
    if (this.#recent.size >= maxRecent) removeOldest(this.#recent);
    this.#recent.set(rid, document);
  }

  /**
   * Replaces `old` by `next`. Only the top-level fields `changedFields` differ. The cache shares `next`, so the caller
   * must not change it afterwards. Throws error 11000 for a duplicate.
   */
  replace(rid: number, old: Document, next: Document, changedFields: readonly string[]): void {
    const bytes = encode(next);
    const changes: { index: IndexTable; removed: string[]; added: string[]; multikey: boolean }[] = [];
    for (const index of this.indexes) {
      if (!changedFields.some((field) => index.spec.fields.has(field))) continue;
      const before = documentKeys(index.spec, old).keys;
      const { keys: after, multikey } = documentKeys(index.spec, next);
      const added = without(after, before);
      const removed = without(before, after);
      if (added.length === 0 && removed.length === 0) continue;
      this.#refuseDuplicates(index, added, rid, next);
      changes.push({ index, removed, added, multikey });
    }
    this.#written += 1;
    this.#statements.replace.run(bytes, rid);
    this.#recent.delete(rid);
    for (const { index, removed, added, multikey } of changes) {
      if (multikey) this.#becomeMultikey(index);
      for (const key of removed) index.remove(key, rid);
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

  /** Creates an index and fills it. Throws error 11000 if documents violate it; the caller must then undo the write. */
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
  clearCaches(): void {
    this.#cache.deleteCollection(this.number);
    this.#rids.clear();
    this.#recent.clear();
  }

  /**
   * Caches the record number of an `_id`. Only strings and integers: no value of another type is equal to them, so they
   * can be keys of a Map.
   */
  #rememberRid(id: unknown, rid: number): void {
    if (typeof id !== 'string' && !Number.isSafeInteger(id)) return;
    if (this.#rids.size >= maxKnownIds) removeOldest(this.#rids);
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

  /** Returns error 11000 if a document other than `rid` has one of the keys, otherwise undefined. */
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
  if (bytes.length > maxDocumentBytes) {
    throw serverError('badValue', `The document has ${bytes.length} bytes; the most is ${maxDocumentBytes}.`);
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
