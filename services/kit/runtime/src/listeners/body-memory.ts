import { DomainError } from '../errors.ts';

/** Bodies up to this size do not count, because the limit of connections bounds their memory; bytes. */
export const smallBodyBytes = 8192;
/**
 * Maximum size of the larger bodies of all running calls at one listener together; bytes. A body counts from its
 * request's headers to the answer. Its parsed form takes several times its size, and the heap of a gateway has 330 MiB
 * by default.
 */
const maxBytes = 64 * 1024 * 1024;
/** Share of the memory that one client may use, so that no client blocks all others. */
const maxOfClient = maxBytes / 2;

/** Memory for the large bodies of running calls. */
export class BodyMemory {
  readonly #ofClient = new Map<string, number>();
  #bytes = 0;

  /** Reserves memory for a body of that size; the returned function releases it. Throws `unavailable` at the limit. */
  take(clientId: string, bytes: number): () => void {
    if (bytes <= smallBodyBytes) return () => {};
    const reserved = this.#ofClient.get(clientId) ?? 0;
    if (this.#bytes + bytes > maxBytes || reserved + bytes > maxOfClient) throw full();
    this.#bytes += bytes;
    this.#ofClient.set(clientId, reserved + bytes);
    return () => {
      this.#bytes -= bytes;
      const left = (this.#ofClient.get(clientId) ?? 0) - bytes;
      if (left > 0) this.#ofClient.set(clientId, left);
      else this.#ofClient.delete(clientId);
    };
  }
}

function full(): DomainError {
  return new DomainError('unavailable', 'Too many large bodies at once.', {
    internal: 'the memory budget for large bodies is used up',
    retryAfterMs: 1000,
  });
}
