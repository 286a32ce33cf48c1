import { limits } from '../domain/limits.ts';

/**
 * The trace contexts of a session's transactions, so that reports about a transaction continue the trace of the call
 * that created it (rule C18). Empty while nothing is traced.
 */
export class Traces {
  #byId: Map<number, string> | undefined;

  /** Stores an offer's traceparent; beyond the limit, removes the oldest one. */
  remember(id: number, traceparent: string): void {
    if (!traceparent) return;
    this.#byId ??= new Map();
    this.#byId.set(id, traceparent);
    if (this.#byId.size > limits.maxRememberedOffers) {
      const [oldest] = this.#byId.keys();
      if (oldest !== undefined) this.#byId.delete(oldest);
    }
  }

  /** Returns the traceparent of a transaction; empty if it is not traced. */
  of(id: number | bigint | undefined): string {
    return (id !== undefined && this.#byId?.get(Number(id))) || '';
  }
}
