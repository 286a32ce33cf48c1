import { retryWhile } from '../calls/retry.ts';
import { limits } from '../domain/limits.ts';
import type { GrantAnswer } from '../domain/offer-queue.ts';

/** Answer of transactions to a `ready`. */
export interface StartGrant {
  readonly answer: GrantAnswer;
  /** Reason of a drop or revoke; empty for a start. */
  readonly reason: string;
}

export interface StartGrantsDeps {
  /** Requests the start grant of a transaction from transactions. */
  readonly request: (transactionId: number) => Promise<StartGrant>;
  /** Called with the answer, if the session is still alive. */
  readonly answered: (transactionId: number, grant: StartGrant) => void;
  /** True: the maximum number of requests is open, so the stream is not read. */
  readonly setFull: (full: boolean) => void;
  /** True: the maximum number of readies waits for the first reconciliation, so the stream is not read. */
  readonly setEarlyFull: (full: boolean) => void;
  readonly alive: () => boolean;
  readonly failed: (error: unknown, attempt: number) => void;
}

/** Requests the start grants for a session's readies. */
export class StartGrants {
  readonly #deps: StartGrantsDeps;
  /** Readies that arrived before the first reconciliation. */
  readonly #early = new Set<number>();
  #open = 0;

  constructor(deps: StartGrantsDeps) {
    this.#deps = deps;
  }

  /** Keeps a ready until the first reconciliation, which may cancel the transaction (rule B1). */
  keepEarly(id: number): void {
    this.#early.add(id);
    if (this.#early.size >= limits.maxInFlightOffers) this.#deps.setEarlyFull(true);
  }

  /** Returns and removes the kept readies, after the first reconciliation. */
  takeEarly(): number[] {
    const early = [...this.#early];
    this.#early.clear();
    this.#deps.setEarlyFull(false);
    return early;
  }

  /** Requests a grant until there is an answer; only an answer ends the request (rule B1). */
  async request(id: number): Promise<void> {
    const { request, answered, setFull, alive, failed } = this.#deps;
    this.#open += 1;
    if (this.#open >= limits.maxInFlightOffers) setFull(true);
    const grant = await retryWhile(alive, () => request(id), failed);
    this.#open -= 1;
    if (!grant || !alive()) return;
    answered(id, grant);
    if (this.#open < limits.maxInFlightOffers) setFull(false);
  }
}
