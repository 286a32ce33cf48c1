import type { StatementSync } from 'node:sqlite';
import type { IndexDescription } from '@headset-cloud/kit/store/operations.ts';
import type { Document } from 'mongodb';
import type { Catalogue } from './catalogue.ts';
import type { EmbeddedDatabase } from './database.ts';
import type { DocumentCache } from './document-cache.ts';
import { encodeDocument } from './encode.ts';
import { documentKeys, parseIndex } from './index-spec.ts';
import { IdTable, IndexTable } from './index-table.ts';
import { encodeKey } from './order.ts';
import { duplicateKey, serverError } from './store-errors.ts';
import { decodeDocument } from './values.ts';

/** MongoDB's limit. */
const largestDocumentBytes = 16 * 1024 * 1024;

const idSpec = parseIndex({ key: { _id: 1 }, name: '_id_', unique: true });

/**
 * One collection's documents and index entries in SQLite; filters are applied by the engine. Each write
 * is checked first (duplicates, size), so one that throws has written nothing. Call it inside
 * `EmbeddedDatabase.write`.
 */
export class DocumentTable {
  readonly namespace: string;
  readonly number: number;
  readonly ids: IdTable;
  readonly indexes: IndexTable[];
  readonly #db: EmbeddedDatabase;
  readonly #catalogue: Catalogue;
  readonly #cache: DocumentCache;
  readonly #statements: Record<
    'insert' | 'replace' | 'remove' | 'read' | 'ridOfId' | 'scan' | 'count',
    StatementSync
  >;

  constructor(
    db: EmbeddedDatabase,
    catalogue: Catalogue,
    cache: DocumentCache,
    namespace: string,
    number: number,
  ) {
    this.#db = db;
    this.#cache = cache;
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
        (stored) => new IndexTable(db.sql, stored.number, parseIndex(stored.description), stored.multikey),
      );
  }

  count(): number {
    return (this.#statements.count.get() as { count: number }).count;
  }

  /** The record number of the document whose `_id` has this key (order.ts). */
  ridOfId(key: Uint8Array): number | undefined {
    return (this.#statements.ridOfId.get(key) as { rid: number } | undefined)?.rid;
  }

  /** The document. It belongs to the cache: do not change it, and give callers a copy. */
  read(rid: number): Document | undefined {
    const cached = this.#cache.get(this.number, rid);
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
      if (error) throw this.ridOfId(id) === undefined ? error : this.#duplicateId(document);
      return { index, ...keys };
    });
    const inserted = this.#statements.insert.run(id, bytes);
    if (inserted.changes === 0) throw this.#duplicateId(document);
    const rid = Number(inserted.lastInsertRowid);
    for (const { index, keys, multikey } of entries) {
      if (multikey) this.#becomeMultikey(index);
      for (const key of keys) index.insert(key, rid);
    }
    // Not cached: a new document is seldom the next one to be read.
    this.#cache.delete(this.number, rid);
  }

  /**
   * Puts `next` in place of `old`. Only the `touched` top-level fields differ. The cache keeps `next`: the
   * caller must not change it any more. Throws error 11000 for a duplicate.
   */
  replace(rid: number, old: Document, next: Document, touched: readonly string[]): void {
    const bytes = encode(next);
    const changes: { index: IndexTable; gone: Uint8Array[]; added: Uint8Array[]; multikey: boolean }[] = [];
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
    this.#statements.replace.run(bytes, rid);
    for (const { index, gone, added, multikey } of changes) {
      if (multikey) this.#becomeMultikey(index);
      for (const key of gone) index.remove(key, rid);
      for (const key of added) index.insert(key, rid);
    }
    this.#cache.set(this.number, rid, next, bytes.length);
  }

  remove(rid: number, document: Document): void {
    this.#statements.remove.run(rid);
    for (const index of this.indexes) {
      for (const key of documentKeys(index.spec, document).keys) index.remove(key, rid);
    }
    this.#cache.delete(this.number, rid);
  }

  /** Makes an index and fills it. Throws error 11000 when documents violate it: then undo the write. */
  addIndex(description: IndexDescription): void {
    const spec = parseIndex(description);
    const number = this.#catalogue.addIndex(this.number, spec.name, description);
    const index = new IndexTable(this.#db.sql, number, spec, false);
    for (const rid of this.scan()) {
      const document = this.read(rid) as Document;
      const { keys, multikey } = documentKeys(spec, document);
      this.#refuseDuplicates(index, keys, rid, document);
      if (multikey) this.#becomeMultikey(index);
      for (const key of keys) index.insert(key, rid);
    }
    this.indexes.push(index);
  }

  /** Removes the collection's documents from the cache, after writes were undone. */
  forget(): void {
    this.#cache.forget(this.number);
  }

  #becomeMultikey(index: IndexTable): void {
    if (index.multikey) return;
    this.#catalogue.setMultikey(index.number);
    // It stays true if this write is undone: queries are right all the same, and at most slower.
    index.multikey = true;
  }

  #duplicateId({ _id }: Document): Error {
    return duplicateKey(this.namespace, '_id_', { _id: 1 }, { _id });
  }

  #refuseDuplicates(index: IndexTable, keys: readonly Uint8Array[], rid: number, document: Document): void {
    const error = this.#duplicate(index, keys, rid, document);
    if (error) throw error;
  }

  /** The error 11000, when another document than `rid` has one of the keys. */
  #duplicate(
    index: IndexTable,
    keys: readonly Uint8Array[],
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

function without(keys: readonly Uint8Array[], others: readonly Uint8Array[]): Uint8Array[] {
  return keys.filter((key) => !others.some((other) => Buffer.compare(key, other) === 0));
}

function valueForMessage(document: Document, parts: readonly string[]): unknown {
  let value: unknown = document;
  for (const part of parts) value = (value as Document | null | undefined)?.[part];
  return value ?? null;
}
