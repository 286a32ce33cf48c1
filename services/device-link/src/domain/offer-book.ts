import { limits } from './limits.ts';

/** What a ready asks for. One that comes again after a start asks again: it may be over since. */
export type ReadyAction = 'ask' | 'ignore';

/** What may be sent now, in this order. */
export interface Release {
  readonly id: number;
  readonly answer: PermitAnswer;
  /** Why it is dropped or revoked; empty for a start. */
  readonly reason: string;
}

/** What a start permit says: the headset may start, must drop, or is asked to revoke what it has started. */
export type PermitAnswer = 'start' | 'drop' | 'revoke';

interface InFlight {
  /** offered: no ready yet; asking: a start permit is asked for; else what it says, until its turn comes. */
  state: 'offered' | 'asking' | PermitAnswer;
  readonly sentAtMs: number;
  reason: string;
  /** It was canceled while its permit was asked for: the permit is older than that. */
  canceledBecause?: string;
  /** It had a permit before in this session: the new one needs no turn. */
  readonly again?: boolean;
}

/**
 * The offers of one session: what waits, what is unanswered, what is over. Keeps three promises: a
 * transaction is offered once in a session (rule B5); starts go out in the order of the offers,
 * whatever order readies and permits come in (rule A11); and only the permit's answer ends an offer
 * whose ready has come (rule B1). `T` is the offer, opaque here.
 */
export class OfferBook<T> {
  /** Not sent yet, rising by id. Without an offer: it is read when it is its turn. */
  #pending: { id: number; offer: T | undefined }[] = [];
  /** In order of sending. */
  readonly #inFlight = new Map<number, InFlight>();
  /** Oldest first; true: started. */
  readonly #ended = new Map<number, boolean>();
  readonly #isLarge: (offer: T) => boolean;

  /** `isLarge`: it is not worth its memory while it waits; by default none is. */
  constructor(isLarge: (offer: T) => boolean = () => false) {
    this.#isLarge = isLarge;
  }

  get pendingCount(): number {
    return this.#pending.length;
  }

  /** True when nothing waits and nothing is unanswered. */
  get idle(): boolean {
    return this.#pending.length === 0 && this.#inFlight.size === 0;
  }

  /** True: this session has, or had, it. */
  knows(id: number): boolean {
    return this.#inFlight.has(id) || this.#ended.has(id) || this.#pending.some((p) => p.id === id);
  }

  /**
   * Takes an offer to be sent, in order of id; false when this session has, or had, it already. Only the next one,
   * and small ones soon after it, are kept whole, so that a headset that does not read costs little: the rest is
   * read when it is its turn.
   */
  add(id: number, offer: T | undefined): boolean {
    if (this.#inFlight.has(id) || this.#ended.has(id)) return false;
    let at = this.#pending.length;
    while (at > 0 && (this.#pending[at - 1] as { id: number }).id > id) at -= 1;
    if (at > 0 && this.#pending[at - 1]?.id === id) return false;
    this.#pending.splice(at, 0, { id, offer });
    // The places of these have changed.
    for (const place of [at, at + 1, limits.maxWholeOffers]) this.#keepWhole(place);
    return true;
  }

  /** The next offer to send; undefined when none waits or too many are unanswered. */
  next(nowMs: number): T | undefined {
    if (this.#inFlight.size >= limits.maxInFlightOffers) return undefined;
    const first = this.#pending[0];
    if (first?.offer === undefined) return undefined;
    this.#pending.shift();
    this.#inFlight.set(first.id, { state: 'offered', sentAtMs: nowMs, reason: '' });
    return first.offer;
  }

  /** What has to be read before anything more can be sent: the next ones, `most` of them; empty: nothing. */
  lacking(most: number): number[] {
    if (this.#inFlight.size >= limits.maxInFlightOffers) return [];
    const next = this.#pending.slice(0, most);
    const whole = next.findIndex(({ offer }) => offer !== undefined);
    return next.slice(0, whole < 0 ? next.length : whole).map(({ id }) => id);
  }

  /** They were read: of `ids`, those without an offer are over. */
  read(ids: readonly number[], offers: ReadonlyMap<number, T>): void {
    const asked = new Set(ids);
    this.#pending = this.#pending.flatMap((p) => {
      const offer = p.offer ?? offers.get(p.id);
      return offer === undefined && asked.has(p.id) ? [] : [{ id: p.id, offer }];
    });
  }

  /** A ready has come. An id that this session did not offer is judged like any other. */
  ready(id: number, nowMs: number): ReadyAction {
    const entry = this.#inFlight.get(id);
    if (!entry) {
      this.#pending = this.#pending.filter((p) => p.id !== id);
      const again = this.#ended.has(id);
      this.#inFlight.set(id, { state: 'asking', sentAtMs: nowMs, reason: '', again });
      return 'ask';
    }
    if (entry.state !== 'offered') return 'ignore';
    entry.state = 'asking';
    return 'ask';
  }

  /** The start permit's answer has come. Answers what may be sent now. */
  permitAnswered(id: number, answer: PermitAnswer, reason: string): Release[] {
    const entry = this.#inFlight.get(id);
    if (!entry) return [];
    const canceled = entry.canceledBecause;
    entry.state = canceled === undefined ? answer : 'drop';
    entry.reason = canceled ?? reason;
    return this.#release();
  }

  /**
   * Transactions were canceled: what waits is forgotten, what is unanswered or started is dropped, and
   * what a permit is being asked for is dropped when that has come. Answers what may be sent now.
   */
  withdraw(ids: readonly number[], reason: string): Release[] {
    const gone = new Set(ids);
    this.#pending = this.#pending.filter((p) => !gone.has(p.id));
    const started: Release[] = [];
    for (const id of gone) {
      const entry = this.#inFlight.get(id);
      if (entry?.state === 'asking') entry.canceledBecause = reason;
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

  /** It is started in this session without an offer: it is not offered any more. */
  started(id: number): void {
    this.#pending = this.#pending.filter((p) => p.id !== id);
    this.#inFlight.delete(id);
    this.#remember(id, true);
  }

  /** When the oldest offer that still waits for its ready was sent; undefined when none does. */
  oldestUnansweredMs(): number | undefined {
    for (const entry of this.#inFlight.values()) if (entry.state === 'offered') return entry.sentAtMs;
    return undefined;
  }

  /** Forgets what is in that place but for its id, unless it may be kept whole. */
  #keepWhole(place: number): void {
    const one = this.#pending[place];
    if (one?.offer === undefined || place === 0) return;
    if (place >= limits.maxWholeOffers || this.#isLarge(one.offer)) one.offer = undefined;
  }

  #release(): Release[] {
    const released: Release[] = [];
    let inTurn = true;
    for (const [id, entry] of this.#inFlight) {
      if (entry.again && entry.state === 'asking') continue;
      if (entry.state === 'offered' || entry.state === 'asking') {
        inTurn = false;
        continue;
      }
      if (!inTurn && !entry.again) continue;
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
