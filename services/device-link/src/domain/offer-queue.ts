import { limits } from './limits.ts';

/**
 * Whether a ready needs a request for a start grant. A ready after a start also needs a request, because the
 * transaction may have ended.
 */
export type ReadyAction = 'request' | 'ignore';

/** A message that may be sent now. */
export interface Release {
  readonly id: number;
  readonly answer: GrantAnswer;
  /** Reason of a drop or revoke; empty for a start. */
  readonly reason: string;
}

/**
 * Answer to a request for a start grant: the headset may start, must drop, or should revoke the started transaction.
 */
export type GrantAnswer = 'start' | 'drop' | 'revoke';

interface InFlight {
  /**
   * offered: no ready yet; requested: the start grant is requested; otherwise the answer to the request, which waits
   * for the answers to earlier offers.
   */
  state: 'offered' | 'requested' | GrantAnswer;
  readonly sentAtMs: number;
  reason: string;
  /** Reason of a cancellation during the request for a start grant. Overrides the answer, which is older. */
  canceledBecause?: string;
  /** True for a repeated ready of an ended offer: the answer is sent at once, without regard to order. */
  readonly again?: boolean;
}

/**
 * The offers of one session: waiting, unanswered and ended offers. `T`: the offer. Guarantees:
 * - A transaction is offered once in a session (rule B5).
 * - Starts are sent in the order of the offers, whatever the order in which readies and grants arrive (rule A11).
 * - After a ready, only the answer to the request for a start grant ends the offer (rule B1).
 */
export class OfferQueue<T> {
  /** Offers that are not sent yet, in ascending order of id. An entry without `offer` is read before it is sent. */
  #pending: { id: number; offer: T | undefined }[] = [];
  /** Offers that are sent and not ended, in the order in which they were sent. */
  readonly #inFlight = new Map<number, InFlight>();
  /** Ended offers by id, oldest first; the value is true for a started transaction. */
  readonly #ended = new Map<number, boolean>();
  readonly #isLarge: (offer: T) => boolean;

  /** `isLarge` returns true for an offer that is not kept in memory while it waits; by default all offers are kept. */
  constructor(isLarge: (offer: T) => boolean = () => false) {
    this.#isLarge = isLarge;
  }

  get pendingCount(): number {
    return this.#pending.length;
  }

  /** True if no offer waits or is unanswered. */
  get idle(): boolean {
    return this.#pending.length === 0 && this.#inFlight.size === 0;
  }

  /** True if this session has, or had, the offer. */
  knows(id: number): boolean {
    return this.#inFlight.has(id) || this.#ended.has(id) || this.#pending.some((p) => p.id === id);
  }

  /**
   * Queues an offer in order of id; returns false if this session has, or had, the offer. Keeps only the next offer,
   * and some small offers after it, in memory, because the headset may not read for a long time. The other offers are
   * read before they are sent.
   */
  add(id: number, offer: T | undefined): boolean {
    if (this.#inFlight.has(id) || this.#ended.has(id)) return false;
    let at = this.#pending.length;
    while (at > 0 && (this.#pending[at - 1] as { id: number }).id > id) at -= 1;
    if (at > 0 && this.#pending[at - 1]?.id === id) return false;
    this.#pending.splice(at, 0, { id, offer });
    // The offers at these positions have moved, or are new.
    for (const position of [at, at + 1, limits.maxOffersInMemory]) this.#trim(position);
    return true;
  }

  /** Returns the next offer to send; undefined if none waits in memory or too many are unanswered. */
  next(nowMs: number): T | undefined {
    if (this.#inFlight.size >= limits.maxInFlightOffers) return undefined;
    const first = this.#pending[0];
    if (first?.offer === undefined) return undefined;
    this.#pending.shift();
    this.#inFlight.set(first.id, { state: 'offered', sentAtMs: nowMs, reason: '' });
    return first.offer;
  }

  /**
   * Returns the ids of the next offers if they are not in memory and must be read before they are sent; at most `max`.
   */
  missing(max: number): number[] {
    if (this.#inFlight.size >= limits.maxInFlightOffers) return [];
    const next = this.#pending.slice(0, max);
    const firstInMemory = next.findIndex(({ offer }) => offer !== undefined);
    return next.slice(0, firstInMemory < 0 ? next.length : firstInMemory).map(({ id }) => id);
  }

  /**
   * Stores the offers of `ids` that were read. An id without an offer belongs to an ended transaction and is removed.
   */
  storeRead(ids: readonly number[], offers: ReadonlyMap<number, T>): void {
    const requested = new Set(ids);
    this.#pending = this.#pending.flatMap((p) => {
      const offer = p.offer ?? offers.get(p.id);
      return offer === undefined && requested.has(p.id) ? [] : [{ id: p.id, offer }];
    });
  }

  /** Handles a ready. The id may be one that this session did not offer. */
  ready(id: number, nowMs: number): ReadyAction {
    const entry = this.#inFlight.get(id);
    if (!entry) {
      this.#pending = this.#pending.filter((p) => p.id !== id);
      const again = this.#ended.has(id);
      this.#inFlight.set(id, { state: 'requested', sentAtMs: nowMs, reason: '', again });
      return 'request';
    }
    if (entry.state !== 'offered') return 'ignore';
    entry.state = 'requested';
    return 'request';
  }

  /** Handles the answer to a request for a start grant. Returns the messages that may be sent now. */
  grantAnswered(id: number, answer: GrantAnswer, reason: string): Release[] {
    const entry = this.#inFlight.get(id);
    if (!entry) return [];
    const canceled = entry.canceledBecause;
    entry.state = canceled === undefined ? answer : 'drop';
    entry.reason = canceled ?? reason;
    return this.#release();
  }

  /**
   * Removes canceled transactions: removes waiting offers, and drops unanswered offers and started transactions. If a
   * start grant is requested, the transaction is dropped after the answer. Returns the messages that may be sent now.
   */
  withdraw(ids: readonly number[], reason: string): Release[] {
    const withdrawn = new Set(ids);
    this.#pending = this.#pending.filter((p) => !withdrawn.has(p.id));
    const started: Release[] = [];
    for (const id of withdrawn) {
      const entry = this.#inFlight.get(id);
      if (entry?.state === 'requested') entry.canceledBecause = reason;
      else if (entry) {
        entry.state = 'drop';
        entry.reason = reason;
      } else if (this.#ended.get(id)) {
        this.#ended.set(id, false);
        started.push({ id, answer: 'drop', reason });
      }
    }
    return [...started, ...this.#release()];
  }

  /** Records that the transaction was started in this session without an offer, so that it is not offered. */
  started(id: number): void {
    this.#pending = this.#pending.filter((p) => p.id !== id);
    this.#inFlight.delete(id);
    this.#remember(id, true);
  }

  /** When the oldest offer without a ready was sent; undefined if there is none. */
  oldestUnansweredMs(): number | undefined {
    for (const entry of this.#inFlight.values()) if (entry.state === 'offered') return entry.sentAtMs;
    return undefined;
  }

  /**
   * Removes the offer at that position from memory, but not its id, if the offer is large or has too many before it.
   */
  #trim(position: number): void {
    const one = this.#pending[position];
    if (one?.offer === undefined || position === 0) return;
    if (position >= limits.maxOffersInMemory || this.#isLarge(one.offer)) one.offer = undefined;
  }

  #release(): Release[] {
    const released: Release[] = [];
    let inOrder = true;
    for (const [id, entry] of this.#inFlight) {
      if (entry.again && entry.state === 'requested') continue;
      if (entry.state === 'offered' || entry.state === 'requested') {
        inOrder = false;
        continue;
      }
      if (!inOrder && !entry.again) continue;
      released.push({ id, answer: entry.state, reason: entry.reason });
      this.#inFlight.delete(id);
      this.#remember(id, entry.state === 'start');
    }
    return released;
  }

  #remember(id: number, started: boolean): void {
    this.#ended.delete(id);
    this.#ended.set(id, started);
    if (this.#ended.size <= limits.maxRememberedOffers) return;
    for (const oldest of this.#ended.keys()) {
      this.#ended.delete(oldest);
      break;
    }
  }
}
