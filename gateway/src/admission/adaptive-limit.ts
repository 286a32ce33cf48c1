/** Initial value and maximum of the limit of running calls. */
const maxLimit = 1024;
/** Minimum of the limit: even if no call is answered in time, this many calls may run. */
const minLimit = 4;
/** Minimum number of running calls at which a late answer indicates an overload. */
const minCallsForOverload = 2 * minLimit;
/** Factor by which running calls may exceed the limit, so that a client with less than its share is admitted. */
const maxExcessFactor = 2;
/** Factor by which a late answer reduces the limit. */
const decreaseFactor = 0.5;
/** Increase of the limit for each answer in time. */
const increase = 1 / 8;

/**
 * A limit of running calls that follows the capacity: additive increase, multiplicative decrease (AIMD), as in TCP's
 * congestion control. Answers in time raise the limit while it is in use. A late answer sets it to half of the calls
 * that were running. Late answers of earlier calls do not halve it again, because they show the same overload. At the
 * limit, a client with less than its share is still admitted, so that one client's calls do not block the others.
 */
export class AdaptiveLimit {
  #limit = maxLimit;
  #inProgress = 0;
  /** Number of decreases of the limit so far. */
  #decreases = 0;
  /** Number of running calls by client. */
  readonly #byClient = new Map<string, number>();

  /** Maximum number of running calls. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /**
   * Starts a call. Returns the function that ends it; undefined if the limit is reached. `late`: the answer was too
   * late.
   */
  enter(clientId: string): ((late: boolean) => void) | undefined {
    const own = this.#byClient.get(clientId) ?? 0;
    if (this.#inProgress >= this.limit) {
      if (own >= this.#shareOf(own) || this.#inProgress >= maxExcessFactor * this.limit) return undefined;
    }
    const decreasesAtStart = this.#decreases;
    this.#inProgress += 1;
    this.#byClient.set(clientId, own + 1);
    return (late) => {
      const inUse = this.#inProgress;
      this.#inProgress -= 1;
      const left = (this.#byClient.get(clientId) ?? 1) - 1;
      if (left > 0) this.#byClient.set(clientId, left);
      else this.#byClient.delete(clientId);
      if (!late) {
        if (2 * inUse > this.#limit) this.#limit = Math.min(this.#limit + increase, maxLimit);
      } else if (decreasesAtStart === this.#decreases && inUse >= minCallsForOverload) {
        this.#decreases += 1;
        this.#limit = Math.max(minLimit, Math.min(this.#limit, inUse) * decreaseFactor);
      }
    };
  }

  /** Equal share of the limit for each client with running calls, including the caller, which has `own` of them. */
  #shareOf(own: number): number {
    return this.#limit / (this.#byClient.size + (own === 0 ? 1 : 0));
  }
}
