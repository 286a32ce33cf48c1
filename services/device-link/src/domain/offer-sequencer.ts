/** An operation as transactions dispatched it. */
export interface Dispatched<T> {
  readonly id: number;
  /** The device's previous operation; 0: none, or unknown. */
  readonly previousId: number;
  readonly offer: T;
}

/** Whether an operation is sent now, waits for a reconciliation, or is refused because too many wait. */
export type Taken = 'now' | 'waits' | 'refused';

/**
 * Keeps a session's offers in the order of creation if dispatches fail, overtake each other or are refused (rule
 * A11). Each dispatched operation names the device's previous one. If this session has not had the previous
 * operation, and has not been reconciled since its creation, an offer is missing. Then the offers of a
 * reconciliation, which are in order, come first.
 */
export class OfferSequencer<T> {
  /** The session was reconciled up to this transaction id. */
  #through = 0;
  /** Dispatched after a missing operation, or during a reconciliation. */
  #waiting: Dispatched<T>[] = [];
  #reconciling = true;
  /** Number of waiting operations that the current reconciliation covers. */
  #covered = 0;
  #refused = false;
  #behind = false;
  readonly #kept: (offer: T, position: number) => T;

  /** `kept`: what stays in memory of an offer that waits at that position; by default the whole offer. */
  constructor(kept: (offer: T, position: number) => T = (offer) => offer) {
    this.#kept = kept;
  }

  /** True if transactions has offers that the session refused: newer ones are refused before these. */
  get behind(): boolean {
    return this.#behind;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  take(one: Dispatched<T>, isFull: boolean, knows: (id: number) => boolean): Taken {
    if (isFull || (this.#behind && !this.#reconciling)) {
      this.#refused = true;
      this.#behind = true;
      return 'refused';
    }
    if (!this.#reconciling && this.#waiting.length === 0 && this.#follows(one, knows)) return 'now';
    this.#waiting.push({ ...one, offer: this.#kept(one.offer, this.#waiting.length) });
    return 'waits';
  }

  /** A reconciliation begins: it covers the operations that wait now. */
  begin(): void {
    this.#reconciling = true;
    this.#covered = this.#waiting.length;
    this.#refused = false;
  }

  /** The reconciliation failed. */
  failed(): void {
    this.#reconciling = false;
  }

  /**
   * The session was reconciled up to `through`, and its offers are in the queue; `cut`: except for those beyond the
   * queue's limit. Returns the waiting operations that may be offered now.
   */
  reconciled(through: number, cut: boolean, knows: (id: number) => boolean): Dispatched<T>[] {
    const covered = this.#waiting.slice(0, this.#covered);
    const since = this.#waiting.slice(this.#covered);
    this.#reconciling = false;
    this.#behind = cut || this.#refused;
    this.#waiting = [];
    // The next reconciliation returns the operations that arrived meanwhile.
    if (cut) return [];
    this.#through = covered.reduce((most, { id }) => Math.max(most, id), Math.max(this.#through, through));
    // An operation that the reconciliation left out has probably ended; its start grant decides.
    const now = new Map(covered.filter(({ id }) => !knows(id)).map((one) => [one.id, one]));
    for (const one of since) {
      if (this.#waiting.length === 0 && this.#follows(one, (id) => now.has(id) || knows(id))) {
        now.set(one.id, one);
      } else this.#waiting.push(one);
    }
    return [...now.values()];
  }

  /** Removes canceled operations. */
  forget(ids: ReadonlySet<number>): void {
    const covered = this.#waiting.slice(0, this.#covered).filter(({ id }) => !ids.has(id)).length;
    this.#waiting = this.#waiting.filter(({ id }) => !ids.has(id));
    this.#covered = covered;
  }

  #follows({ previousId }: Dispatched<T>, knows: (id: number) => boolean): boolean {
    return previousId <= this.#through || knows(previousId);
  }
}
