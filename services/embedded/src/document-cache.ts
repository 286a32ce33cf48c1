import { LRUCache } from 'lru-cache';
import type { Document } from 'mongodb';

/** Size of the cached documents as BSON, in bytes; as JavaScript objects they take several times as much. */
const maxBytes = 32 * 1024 * 1024;
const maxDocuments = 50_000;
/** Estimated memory of a document in addition to its BSON; bytes. */
const overheadBytes = 64;
/**
 * Minimum size that is counted for a document; bytes. It limits the number of documents. The option `max` of lru-cache
 * would allocate memory for the maximum number at once.
 */
const minBytes = Math.ceil(maxBytes / maxDocuments);
/** Record numbers are below this limit. Cache key: number of the collection × this limit + record number. */
const ridLimit = 2 ** 36;

/** The most recently used documents of all collections, decoded. */
export class DocumentCache {
  readonly #cache = new LRUCache<number, { document: Document }>({ maxSize: maxBytes });

  get(collection: number, rid: number): Document | undefined {
    return this.#cache.get(collection * ridLimit + rid)?.document;
  }

  set(collection: number, rid: number, document: Document, bytes: number): void {
    const size = Math.max(bytes + overheadBytes, minBytes);
    this.#cache.set(collection * ridLimit + rid, { document }, { size });
  }

  delete(collection: number, rid: number): void {
    this.#cache.delete(collection * ridLimit + rid);
  }

  /** Removes a collection's documents. */
  deleteCollection(collection: number): void {
    for (const key of [...this.#cache.keys()]) {
      if (Math.floor(key / ridLimit) === collection) this.#cache.delete(key);
    }
  }
}
