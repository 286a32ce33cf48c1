import { DomainError } from '../errors.ts';

/** Bodies up to this size need no room: the number of connections bounds them. Bytes. */
export const smallBodyBytes = 8192;
/**
 * Larger bodies of calls under way at one listener, from their headers to their answers, of all clients; parsed they
 * take several times as much. A gateway's heap has 330 MiB by default. Bytes.
 */
const mostBytes = 64 * 1024 * 1024;
/** Share of it that one client may take, so that none keeps all others out. */
const mostOfClient = mostBytes / 2;

/** The room for large bodies of calls under way. */
export class BodyRoom {
  readonly #ofClient = new Map<string, number>();
  #bytes = 0;

  /** Takes room for a body of that size; the returned function gives it back. Throws `unavailable` when there is none. */
  take(clientId: string, bytes: number): () => void {
    if (bytes <= smallBodyBytes) return () => {};
    const its = this.#ofClient.get(clientId) ?? 0;
    if (this.#bytes + bytes > mostBytes || its + bytes > mostOfClient) throw full();
    this.#bytes += bytes;
    this.#ofClient.set(clientId, its + bytes);
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
    internal: 'the room for large bodies of calls under way is taken',
    retryAfterMs: 1000,
  });
}
