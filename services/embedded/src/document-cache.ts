import { LRUCache } from 'lru-cache';
import type { Document } from 'mongodb';

/** Size of the cached documents as BSON, in bytes; as JavaScript objects they take several times as much. */
const mostBytes = 32 * 1024 * 1024;
const mostDocuments = 50_000;
/** Additional bytes per document beside its BSON. */
const overheadBytes = 64;
/** Minimum size that counts for a document, to bound their number. lru-cache's `max` would allocate for all at once. */
const leastBytes = Math.ceil(mostBytes / mostDocuments);
/** Record numbers are below this; a cache key is a collection's number times this plus a record number. */
const records = 2 ** 36;

/** The most recently used documents of all collections, decoded. */
export class DocumentCache {
  readonly #cache = new LRUCache<number, { document: Document }>({ maxSize: mostBytes });

  get(collection: number, rid: number): Document | undefined {
    return this.#cache.get(collection * records + rid)?.document;
  }

  set(collection: number, rid: number, document: Document, bytes: number): void {
    const size = Math.max(bytes + overheadBytes, leastBytes);
    this.#cache.set(collection * records + rid, { document }, { size });
  }

  delete(collection: number, rid: number): void {
    this.#cache.delete(collection * records + rid);
  }

  /** Removes a collection's documents. */
  forget(collection: number): void {
    for (const key of [...this.#cache.keys()]) {
      if (Math.floor(key / records) === collection) this.#cache.delete(key);
    }
  }
}
