/**
 * Bounds of the limit of running calls: the start value and maximum, and the minimum when nothing is answered in time.
 */
const bounds = { most: 1024, least: 4 };
/** A late answer among fewer calls than this does not show an overload. */
const few = 2 * bounds.least;
/** Factor by which the shares of many clients may exceed the limit. */
const mostExcess = 2;
/** Factor of the limit after a late answer. */
const decrease = 0.5;
/** Increase of the limit by an answer in time. */
const increase = 1 / 8;

/**
 * A limit of running calls that follows the capacity: additive increase, multiplicative decrease (AIMD), as in TCP's
 * congestion control. Answers in time raise the limit while it is in use. A late answer sets it to half of the calls
 * that were running. Late answers of earlier calls do not halve it again, because they show the same overload. At the
 * limit, a client with less than its share is still admitted, so that one client's calls do not block the others.
 */
export class AdaptiveLimit {
  #most = bounds.most;
  #inProgress = 0;
  /** Number of decreases so far. */
  #era = 0;
  readonly #byClient = new Map<string, number>();

  get most(): number {
    return Math.floor(this.#most);
  }

  /** Returns the function that ends the call; undefined if the limit is reached. `late`: the answer was too late. */
  enter(clientId: string): ((late: boolean) => void) | undefined {
    const own = this.#byClient.get(clientId) ?? 0;
    if (this.#inProgress >= this.most) {
      if (own >= this.#shareOf(own) || this.#inProgress >= mostExcess * this.most) return undefined;
    }
    const era = this.#era;
    this.#inProgress += 1;
    this.#byClient.set(clientId, own + 1);
    return (late) => {
      const inUse = this.#inProgress;
      this.#inProgress -= 1;
      const left = (this.#byClient.get(clientId) ?? 1) - 1;
      if (left > 0) this.#byClient.set(clientId, left);
      else this.#byClient.delete(clientId);
      if (!late) {
        if (2 * inUse > this.#most) this.#most = Math.min(this.#most + increase, bounds.most);
      } else if (era === this.#era && inUse >= few) {
        this.#era += 1;
        this.#most = Math.max(bounds.least, Math.min(this.#most, inUse) * decrease);
      }
    };
  }

  /** Number of calls that each client with running calls may have at the limit. */
  #shareOf(own: number): number {
    return this.#most / (this.#byClient.size + (own === 0 ? 1 : 0));
  }
}
