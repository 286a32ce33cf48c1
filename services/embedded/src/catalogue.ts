import type { DatabaseSync } from 'node:sqlite';
import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import { BSON } from 'mongodb';

/** An index as the catalogue keeps it. */
export interface StoredIndex {
  readonly number: number;
  readonly description: IndexDescription;
  readonly multikey: boolean;
}

/**
 * Lists the existing collections and indexes, in two tables of the shared database file. The documents of collection n
 * are in the table `documents_<n>`, the entries of index n in the table `index_<n>`.
 */
export class Catalogue {
  readonly #sql: DatabaseSync;

  constructor(sql: DatabaseSync) {
    this.#sql = sql;
  }

  /** Creates the missing tables of the catalogue. */
  create(): void {
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS store_collections (
        number INTEGER PRIMARY KEY, namespace TEXT NOT NULL UNIQUE
      );
      CREATE TABLE IF NOT EXISTS store_indexes (
        number INTEGER PRIMARY KEY, collection INTEGER NOT NULL, name TEXT NOT NULL,
        description TEXT NOT NULL, multikey INTEGER NOT NULL DEFAULT 0, UNIQUE (collection, name)
      );
    `);
  }

  /** The collection's number; undefined when it was never written to. */
  find(namespace: string): number | undefined {
    const row = this.#sql
      .prepare('SELECT number FROM store_collections WHERE namespace = ?')
      .get(namespace) as { number: number } | undefined;
    return row?.number;
  }

  /** Adds a collection and its table; call in a write. */
  add(namespace: string): number {
    const added = this.#sql.prepare('INSERT INTO store_collections (namespace) VALUES (?)').run(namespace);
    const number = Number(added.lastInsertRowid);
    this.#sql.exec(
      `CREATE TABLE documents_${number} (rid INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, document BLOB NOT NULL)`,
    );
    return number;
  }

  indexes(collection: number): StoredIndex[] {
    const rows = this.#sql
      .prepare('SELECT number, description, multikey FROM store_indexes WHERE collection = ? ORDER BY number')
      .all(collection) as { number: number; description: string; multikey: number }[];
    return rows.map(({ number, description, multikey }) => ({
      number,
      description: BSON.EJSON.parse(description) as IndexDescription,
      multikey: multikey === 1,
    }));
  }

  /** Adds an index and its empty table; call in a write. */
  addIndex(collection: number, name: string, description: IndexDescription): number {
    const added = this.#sql
      .prepare('INSERT INTO store_indexes (collection, name, description) VALUES (?, ?, ?)')
      .run(collection, name, BSON.EJSON.stringify(description, { relaxed: false }));
    const number = Number(added.lastInsertRowid);
    this.#sql.exec(`CREATE TABLE index_${number} (entry BLOB PRIMARY KEY) WITHOUT ROWID`);
    return number;
  }

  /** Stores that a document has several keys in the index. The mark is never removed. Call in a write. */
  setMultikey(index: number): void {
    this.#sql.prepare('UPDATE store_indexes SET multikey = 1 WHERE number = ?').run(index);
  }
}
