/** An operation as it was handed over. */
export interface HandedOver<T> {
  readonly id: number;
  /** The device's operation before it; 0: none, or not told. */
  readonly previousId: number;
  readonly offer: T;
}

/** What becomes of a hand-over: sent now, kept until the session is judged, or refused for want of room. */
export type Taken = 'now' | 'waits' | 'refused';

/**
 * Whose turn it is: keeps a session's offers in the order in which they were created where hand-overs
 * fail, overtake each other or are refused (rule A11). Each names the operation before it. Where the
 * session has neither had that nor been judged since it was created, something is missing, and the judge's
 * answer, which is in order, comes first.
 */
export class Turn<T> {
  /** Judged for everything up to this id. */
  #through = 0;
  /** Handed over behind something that is missing, or while the session is judged. */
  #waiting: HandedOver<T>[] = [];
  #judging = true;
  /** Of what waits, the judgement under way covers so many. */
  #covered = 0;
  #refused = false;
  #behind = false;
  readonly #kept: (offer: T, place: number) => T;

  /** `kept`: what is kept of an offer while it waits in that place; by default all of it. */
  constructor(kept: (offer: T, place: number) => T = (offer) => offer) {
    this.#kept = kept;
  }

  /** More waits in the cloud than the session holds: nothing newer is taken before it. */
  get behind(): boolean {
    return this.#behind;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  take(one: HandedOver<T>, isFull: boolean, knows: (id: number) => boolean): Taken {
    if (isFull || (this.#behind && !this.#judging)) {
      this.#refused = true;
      this.#behind = true;
      return 'refused';
    }
    if (!this.#judging && this.#waiting.length === 0 && this.#follows(one, knows)) return 'now';
    this.#waiting.push({ ...one, offer: this.#kept(one.offer, this.#waiting.length) });
    return 'waits';
  }

  /** The session is about to be judged: what was handed over by now is in order with the answer. */
  begin(): void {
    this.#judging = true;
    this.#covered = this.#waiting.length;
    this.#refused = false;
  }

  /** It could not be judged. */
  failed(): void {
    this.#judging = false;
  }

  /**
   * It was judged for everything up to `through`, and what was to be offered is in the book; `cut`: but
   * for what it had no room for. Answers what else may be offered now.
   */
  judged(through: number, cut: boolean, knows: (id: number) => boolean): HandedOver<T>[] {
    const covered = this.#waiting.slice(0, this.#covered);
    const since = this.#waiting.slice(this.#covered);
    this.#judging = false;
    this.#behind = cut || this.#refused;
    this.#waiting = [];
    // What came meanwhile is in the next answer.
    if (cut) return [];
    this.#through = covered.reduce((most, { id }) => Math.max(most, id), Math.max(this.#through, through));
    // What the answer leaves out is most likely over: its start permit will tell.
    const now = new Map(covered.filter(({ id }) => !knows(id)).map((one) => [one.id, one]));
    for (const one of since) {
      if (this.#waiting.length === 0 && this.#follows(one, (id) => now.has(id) || knows(id))) {
        now.set(one.id, one);
      } else this.#waiting.push(one);
    }
    return [...now.values()];
  }

  /** They were canceled. */
  forget(ids: ReadonlySet<number>): void {
    const covered = this.#waiting.slice(0, this.#covered).filter(({ id }) => !ids.has(id)).length;
    this.#waiting = this.#waiting.filter(({ id }) => !ids.has(id));
    this.#covered = covered;
  }

  #follows({ previousId }: HandedOver<T>, knows: (id: number) => boolean): boolean {
    return previousId <= this.#through || knows(previousId);
  }
}
