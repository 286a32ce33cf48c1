import { limits } from '../domain/limits.ts';

/**
 * The trace contexts of a session's transactions, so that what the headset says about one continues in
 * the trace of the call that made it (rule C18). Empty, and without cost, while nothing is traced.
 */
export class Traces {
  #byId: Map<number, string> | undefined;

  /** Remembers an offer's traceparent; the oldest is forgotten beyond a bound. */
  remember(id: number, traceparent: string): void {
    if (!traceparent) return;
    this.#byId ??= new Map();
    this.#byId.set(id, traceparent);
    if (this.#byId.size > limits.maxRememberedOffers) {
      const [oldest] = this.#byId.keys();
      if (oldest !== undefined) this.#byId.delete(oldest);
    }
  }

  /** The traceparent of a transaction; empty when it is not traced. */
  of(id: number | bigint | undefined): string {
    return (id !== undefined && this.#byId?.get(Number(id))) || '';
  }
}
