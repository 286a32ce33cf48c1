import type { StoreCursor } from '@headset-cloud/store/types.ts';
import type { Document } from 'mongodb';

/** Number of documents that a cursor reads in one event loop iteration. */
const batchSize = 200;

/**
 * The documents of a query, read in batches on demand. A batch is returned only after `untilDurable` has resolved. So a
 * caller never gets a document that a crash could undo.
 */
export class EmbeddedCursor<T extends Document> implements StoreCursor<T> {
  readonly #query: () => Iterable<Document>;
  readonly #untilDurable: () => Promise<void>;
  #closed = false;

  constructor(query: () => Iterable<Document>, untilDurable: () => Promise<void>) {
    this.#query = query;
    this.#untilDurable = untilDurable;
  }

  async toArray(): Promise<T[]> {
    const documents = this.#closed ? [] : [...this.#query()];
    this.#closed = true;
    await this.#untilDurable();
    return documents as T[];
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    if (this.#closed) return;
    const source = this.#query()[Symbol.iterator]();
    try {
      for (;;) {
        const batch: T[] = [];
        let next = source.next();
        for (; !next.done; next = source.next()) {
          batch.push(next.value as T);
          if (batch.length === batchSize) break;
        }
        await this.#untilDurable();
        for (const document of batch) {
          if (this.#closed) return;
          yield document;
        }
        if (next.done) return;
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      this.#closed = true;
      source.return?.();
    }
  }
}
