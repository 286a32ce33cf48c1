import { retryWhile } from '../calls/retry.ts';
import { limits } from '../domain/limits.ts';
import type { GrantAnswer } from '../domain/offer-queue.ts';
import type { SessionContext } from './session-context.ts';

/** Answer of transactions to a `ready`. */
export interface StartGrant {
  readonly answer: GrantAnswer;
  /** Reason of a drop or revoke; empty for a start. */
  readonly reason: string;
}

/** Requests the start grants for a session's readies. The stream is not read while too many readies wait. */
export class StartGrants {
  readonly #session: Pick<SessionContext, 'flow' | 'isAlive' | 'logFailure'>;
  readonly #request: (transactionId: number) => Promise<StartGrant>;
  /** Readies that arrived before the first reconciliation. */
  readonly #early = new Set<number>();
  #open = 0;

  /** `request` requests the start grant of a transaction from transactions. */
  constructor(
    session: Pick<SessionContext, 'flow' | 'isAlive' | 'logFailure'>,
    request: (transactionId: number) => Promise<StartGrant>,
  ) {
    this.#session = session;
    this.#request = request;
  }

  /** Keeps a ready until the first reconciliation, which may cancel the transaction (rule B1). */
  keepEarly(id: number): void {
    this.#early.add(id);
    if (this.#early.size >= limits.maxInFlightOffers) this.#session.flow.stall('readies', true);
  }

  /** Returns and removes the kept readies, after the first reconciliation. */
  takeEarly(): number[] {
    const early = [...this.#early];
    this.#early.clear();
    this.#session.flow.stall('readies', false);
    return early;
  }

  /**
   * Requests a start grant, with retries until there is an answer, because only an answer ends the offer (rule B1).
   * Then calls `answered`, unless the session has ended.
   */
  async request(id: number, answered: (grant: StartGrant) => void): Promise<void> {
    const { flow, isAlive, logFailure } = this.#session;
    this.#open += 1;
    if (this.#open >= limits.maxInFlightOffers) flow.stall('grants', true);
    const grant = await retryWhile(
      isAlive,
      () => this.#request(id),
      (error, attempt) => logFailure('a start grant could not be requested', error, attempt),
    );
    this.#open -= 1;
    if (!grant || !isAlive()) return;
    answered(grant);
    if (this.#open < limits.maxInFlightOffers) flow.stall('grants', false);
  }
}
