import { limits } from '../domain/limits.ts';
import type { PermitAnswer } from '../domain/offer-book.ts';
import { retryWhile } from './retry.ts';

/** Transactions' answer to a `ready`. */
export interface StartPermit {
  readonly answer: PermitAnswer;
  /** Why it is dropped or revoked; empty for a start. */
  readonly reason: string;
}

export interface StartPermitsDeps {
  /** Asks transactions whether the headset may start it. */
  readonly ask: (transactionId: number) => Promise<StartPermit>;
  /** The answer, where the session still lives. */
  readonly answered: (transactionId: number, permit: StartPermit) => void;
  /** As many permits are asked for at once as may be: no more is read. */
  readonly setFull: (full: boolean) => void;
  /** As many readies as may be wait for the judgement: no more is read. */
  readonly setEarlyFull: (full: boolean) => void;
  readonly alive: () => boolean;
  readonly failed: (error: unknown, attempt: number) => void;
}

/** Asks for the start permits of a session's readies. */
export class StartPermits {
  readonly #deps: StartPermitsDeps;
  /** Readies that came before the session was judged. */
  readonly #early = new Set<number>();
  #asking = 0;

  constructor(deps: StartPermitsDeps) {
    this.#deps = deps;
  }

  /** Before the session is judged no permit is asked for: the judgement may be canceling it (rule B1). */
  keepEarly(id: number): void {
    this.#early.add(id);
    if (this.#early.size >= limits.maxInFlightOffers) this.#deps.setEarlyFull(true);
  }

  /** The session is judged: answers what was kept, and keeps nothing any more. */
  takeEarly(): number[] {
    const early = [...this.#early];
    this.#early.clear();
    this.#deps.setEarlyFull(false);
    return early;
  }

  /** Asks until there is an answer; nothing else ever ends what is asked for (rule B1). */
  async ask(id: number): Promise<void> {
    const { ask, answered, setFull, alive, failed } = this.#deps;
    this.#asking += 1;
    if (this.#asking >= limits.maxInFlightOffers) setFull(true);
    const permit = await retryWhile(alive, () => ask(id), failed);
    this.#asking -= 1;
    if (!permit || !alive()) return;
    answered(id, permit);
    if (this.#asking < limits.maxInFlightOffers) setFull(false);
  }
}
