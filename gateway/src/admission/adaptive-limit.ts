/** The limit of the calls under way, at first and when all goes well, and when nothing is answered in time. */
const bounds = { most: 1024, least: 4 };
/** A late answer among fewer calls than this is no sign that they were too many. */
const few = 2 * bounds.least;
/** How far the parts of many clients may exceed the limit, as a factor. */
const mostExcess = 2;
/** What remains of the limit after a late answer. */
const decrease = 0.5;
/** How much an answer in time adds. */
const increase = 1 / 8;

/**
 * A limit of calls under way that follows what can be done: additive increase, multiplicative decrease (AIMD), as
 * in TCP's congestion control. Answers in time raise it, as long as it is in use. A late answer makes it half of the
 * calls that were under way; calls that came before do not halve it again, for they tell of the same jam. Where it
 * is full, a client with less than its part of it is admitted all the same, so that one client's calls do not keep
 * the others out.
 */
export class AdaptiveLimit {
  #most = bounds.most;
  #underWay = 0;
  /** Counts the decreases. */
  #era = 0;
  readonly #byClient = new Map<string, number>();

  get most(): number {
    return Math.floor(this.#most);
  }

  /** The function that ends the call; undefined: there is no room. `late`: its answer did not come in time. */
  enter(clientId: string): ((late: boolean) => void) | undefined {
    const own = this.#byClient.get(clientId) ?? 0;
    if (this.#underWay >= this.most) {
      if (own >= this.#part(own) || this.#underWay >= mostExcess * this.most) return undefined;
    }
    const era = this.#era;
    this.#underWay += 1;
    this.#byClient.set(clientId, own + 1);
    return (late) => {
      const inUse = this.#underWay;
      this.#underWay -= 1;
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

  /** The calls that each client with calls under way may have in a full limit. */
  #part(own: number): number {
    return this.#most / (this.#byClient.size + (own === 0 ? 1 : 0));
  }
}
