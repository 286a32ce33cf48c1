import { LRUCache } from 'lru-cache';
import type { Document } from 'mongodb';

/** Counted as BSON; as JavaScript objects they take several times as much memory. */
const mostBytes = 32 * 1024 * 1024;
const mostDocuments = 50_000;
/** Added for what a document costs however small it is. */
const overheadBytes = 64;
/** So that there are never more than `mostDocuments`; a `max` would have lru-cache reserve their places at once. */
const leastBytes = Math.ceil(mostBytes / mostDocuments);
/** Record numbers of one collection stay below this. */
const records = 2 ** 36;

/** Decoded documents of all collections, those used last; bounded. */
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

  /** Forgets a whole collection: its writes were undone. */
  forget(collection: number): void {
    for (const key of [...this.#cache.keys()]) {
      if (Math.floor(key / records) === collection) this.#cache.delete(key);
    }
  }
}
