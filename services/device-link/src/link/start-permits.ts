import type { AcceptResponse } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { limits } from '../domain/limits.ts';
import { retryWhile } from './retry.ts';

export interface StartPermitsDeps {
  /** Asks transactions whether the headset may start it. */
  readonly ask: (transactionId: number) => Promise<AcceptResponse>;
  /** The answer, where the session still lives. */
  readonly answered: (transactionId: number, answer: AcceptResponse) => void;
  /** As many are asked for at once as may be: no more is read. */
  readonly setFull: (full: boolean) => void;
  /** As many readies wait for the judgement as may be. */
  readonly setWaitingFull: (full: boolean) => void;
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

  /** Before the session is judged nothing is asked: the judgement may be canceling it (rule B1). */
  keep(id: number): void {
    this.#early.add(id);
    if (this.#early.size >= limits.maxInFlightOffers) this.#deps.setWaitingFull(true);
  }

  /** The session is judged: answers what was kept, and keeps nothing any more. */
  takeKept(): number[] {
    const kept = [...this.#early];
    this.#early.clear();
    this.#deps.setWaitingFull(false);
    return kept;
  }

  /** Asks until there is an answer; nothing else ever drops it (rule B1). */
  async ask(id: number): Promise<void> {
    const { ask, answered, setFull, alive, failed } = this.#deps;
    this.#asking += 1;
    if (this.#asking >= limits.maxInFlightOffers) setFull(true);
    const answer = await retryWhile(alive, () => ask(id), failed);
    this.#asking -= 1;
    if (!answer || !alive()) return;
    answered(id, answer);
    if (this.#asking < limits.maxInFlightOffers) setFull(false);
  }
}
