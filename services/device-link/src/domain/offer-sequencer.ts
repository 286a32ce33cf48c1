/** An operation as transactions dispatched it. */
export interface Dispatched<T> {
  readonly id: number;
  /** Transaction id of the device's previous operation; 0: none, or unknown. */
  readonly previousId: number;
  readonly offer: T;
}

/** Whether an operation is sent now, waits for a reconciliation, or is refused because too many operations wait. */
export type TakeOutcome = 'now' | 'waits' | 'refused';

/**
 * Keeps a session's offers in the order of creation, even if dispatches fail, overtake each other or are refused (rule
 * A11). Each dispatched operation contains the id of the device's previous operation. If this session has not had the
 * previous operation, and has not been reconciled since its creation, an offer is missing. The session is then
 * reconciled, and the offers of the reconciliation, which are in order, are sent first.
 */
export class OfferSequencer<T> {
  /** The session was reconciled up to this transaction id. */
  #through = 0;
  /** Operations that were dispatched after a missing operation, or during a reconciliation. */
  #waiting: Dispatched<T>[] = [];
  #reconciling = true;
  /** Number of waiting operations that the current reconciliation covers. */
  #covered = 0;
  /** True if an operation was refused since the last reconciliation began. */
  #refused = false;
  #behind = false;
  readonly #kept: (offer: T, position: number) => T;

  /** `kept` returns the part of a waiting offer that stays in memory, by its position; by default the whole offer. */
  constructor(kept: (offer: T, position: number) => T = (offer) => offer) {
    this.#kept = kept;
  }

  /**
   * True if the session refused operations, or had no space for them, and has not got them by a reconciliation since.
   * Newer operations are also refused, to keep the order.
   */
  get behind(): boolean {
    return this.#behind;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /**
   * Decides about a dispatched operation. `isFull`: too many operations wait. `knows`: the session has or had the
   * offer.
   */
  take(one: Dispatched<T>, isFull: boolean, knows: (id: number) => boolean): TakeOutcome {
    if (isFull || (this.#behind && !this.#reconciling)) {
      this.#refused = true;
      this.#behind = true;
      return 'refused';
    }
    if (!this.#reconciling && this.#waiting.length === 0 && this.#follows(one, knows)) return 'now';
    this.#waiting.push({ ...one, offer: this.#kept(one.offer, this.#waiting.length) });
    return 'waits';
  }

  /** Records that a reconciliation begins. The reconciliation covers the operations that wait now. */
  begin(): void {
    this.#reconciling = true;
    this.#covered = this.#waiting.length;
    this.#refused = false;
  }

  /** Records that the reconciliation failed. */
  failed(): void {
    this.#reconciling = false;
  }

  /**
   * Records that the session was reconciled up to `through`, and that the offers of the reconciliation are in the
   * queue. `cut`: some offers are not in the queue, because the queue is full. Returns the waiting operations that may
   * be offered now.
   */
  reconciled(through: number, cut: boolean, knows: (id: number) => boolean): Dispatched<T>[] {
    const covered = this.#waiting.slice(0, this.#covered);
    const arrivedSince = this.#waiting.slice(this.#covered);
    this.#reconciling = false;
    this.#behind = cut || this.#refused;
    this.#waiting = [];
    // The next reconciliation returns the waiting operations again.
    if (cut) return [];
    this.#through = Math.max(this.#through, through, ...covered.map(({ id }) => id));
    // The reconciliation did not return these operations. They have probably ended, which their start grants decide.
    const now = new Map(covered.filter(({ id }) => !knows(id)).map((one) => [one.id, one]));
    for (const one of arrivedSince) {
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
