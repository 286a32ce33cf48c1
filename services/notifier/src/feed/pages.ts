import { randomBytes } from 'node:crypto';
import type { Clock } from '@headset-cloud/kit/clock.ts';
import {
  firstOf,
  inFeedOrder,
  mayHaveEarlier,
  type Resent,
  tooLate,
  type Unplaced,
} from '../domain/feed-order.ts';
import type { FeedHead, FeedPage, FeedStore } from '../ports.ts';
import { pageOutlivesMs } from './walk.ts';

/** Deliveries that get their places together. */
export const pageSize = 100;
/**
 * Pages that are made of one look at what has no place: a store that sorts all of it for each look (the stand-in for
 * MongoDB does) would be asked once for each page otherwise.
 */
const mostPagesOfALook = 10;
const mostOfALook = mostPagesOfALook * pageSize;
/** A request that has got on is answered after this time, and no further page is made so long after a look. */
export const slowMs = 500;
/** Transactions whose other callbacks are looked for together. */
const mostTransactions = 100;
/** Clocks of processes may differ by this much. */
const clockMarginMs = 2 * 3_600_000;
/** How often a reader who finds nothing new has it stored that nothing was lost. */
const stillAllEveryMs = 3_600_000;

export interface PagesOptions {
  readonly store: FeedStore;
  readonly clock: Clock;
  /** The shortest time that a delivery is kept after its end; milliseconds. */
  readonly keptMs: number;
  /** The longest such time; milliseconds. */
  readonly longestMs: number;
  /** The longest time from a delivery's creation to its end; milliseconds. */
  readonly openMs: number;
}

/** How far the feed goes. `drained`: nothing waits for a place. */
export interface Extended {
  readonly head: FeedHead;
  readonly drained: boolean;
}

/**
 * Gives deliveries their places (ADR 0053), one page after the other: storing a page under its number is what decides
 * between readers and instances, and a page is made only when all deliveries of the one before it are marked.
 */
export class FeedPages {
  readonly #store: FeedStore;
  readonly #clock: Clock;
  readonly #keptMs: number;
  readonly #longestMs: number;
  readonly #openMs: number;

  constructor({ store, clock, keptMs, longestMs, openMs }: PagesOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#keptMs = keptMs;
    this.#longestMs = longestMs;
    this.#openMs = openMs;
  }

  async head(applicationId: string): Promise<FeedHead> {
    const found = await this.#store.head(applicationId);
    if (found) return found;
    const allUntilMs = this.#keptUntil(this.#clock.now());
    const first = { last: 0, tag: newTag(), start: 1, allUntilMs, newestMs: 0 };
    await this.#store.begin(applicationId, first);
    return (await this.#store.head(applicationId)) ?? first;
  }

  /**
   * Gives places to what has none, some pages at most. `drained`: there is nothing more. Each page is made only if nobody
   * made one of its number before, so what was seen by the look has no place yet when it gets one.
   */
  async extended(applicationId: string, head: FeedHead): Promise<Extended> {
    const nowMs = this.#clock.now();
    const beganMs = monotonicMs(this.#clock);
    const [present, found, resent] = await Promise.all([
      this.#store.page(applicationId, head.last + 1),
      this.#store.unplaced(applicationId, mostOfALook + 1),
      this.#store.resent(applicationId, mostOfALook + 1),
    ]);
    // Made by a reader that has not marked its deliveries yet, or died before.
    if (present) return { head: await this.#completed(applicationId, head, present), drained: false };
    // By a time after the look: something may have been removed while it was on its way.
    const isCovered = this.#clock.now() <= head.allUntilMs;
    const { inOrder, replaced, later, isCut } = await this.#inOrder(applicationId, found);
    if (replaced.length > 0) {
      await this.#store.leaveOut(replaced.map(({ id }) => id));
      return { head, drained: false };
    }
    const laterUntilMs = this.#untilOf(later, nowMs);
    if (inOrder.length === 0 && resent.length === 0 && isCovered) {
      if (laterUntilMs - head.allUntilMs > stillAllEveryMs) {
        await this.#store.stillAll(applicationId, head.last, laterUntilMs);
      }
      return { head, drained: true };
    }
    let [at, unplaced, again]: [FeedHead, readonly Unplaced[], readonly Resent[]] = [head, inOrder, resent];
    for (let made = 1; ; made++) {
      const { page, removedAtMs, ...rest } = this.#nextPage(at, unplaced, again, {
        ...{ nowMs, laterUntilMs, ...(made === 1 && !isCovered && { gapFromMs: head.allUntilMs }) },
      });
      const isMine = await this.#store.add(applicationId, page, removedAtMs);
      const stored = isMine ? page : await this.#store.page(applicationId, page.number);
      if (!stored) throw new Error(`page ${page.number} of the feed is there and cannot be read`);
      at = await this.#completed(applicationId, at, stored);
      if (!isMine) return { head: at, drained: false };
      ({ unplaced, again } = rest);
      if (unplaced.length === 0 && again.length === 0) return { head: at, drained: !isCut };
      const isLong = monotonicMs(this.#clock) - beganMs > slowMs;
      if (made === mostPagesOfALook || isLong) return { head: at, drained: false };
    }
  }

  /**
   * The page behind the head, of what was seen at `nowMs` and has no place, and what of that comes later. `laterUntilMs`:
   * until when nothing of what else comes later is removed.
   */
  #nextPage(
    head: FeedHead,
    unplaced: readonly Unplaced[],
    resent: readonly Resent[],
    { nowMs, laterUntilMs, ...gap }: Seen,
  ) {
    const taken = unplaced.slice(0, pageSize);
    const rest = unplaced.slice(pageSize);
    const again = resent.slice(0, pageSize - taken.length);
    const all = [...taken, ...again];
    const page: FeedPage = {
      number: head.last + 1,
      tag: newTag(),
      before: head.tag,
      ids: all.map(({ id }) => id),
      ends: all.map((one) => this.#endOf(one, nowMs)),
      resends: again.map(({ resends }, i) => ({ place: taken.length + i, resends })),
      allUntilMs: Math.min(laterUntilMs, this.#untilOf(rest, nowMs)),
      newestMs: Math.max(head.newestMs, ...taken.map(({ createdAtMs }) => createdAtMs)),
      ...gap,
    };
    const ends = all.flatMap(({ expireAtMs }) => expireAtMs ?? []);
    const removedAtMs = Math.max(nowMs + this.#openMs + this.#longestMs, ...ends) + pageOutlivesMs;
    return { page, removedAtMs, unplaced: rest, again: resent.slice(again.length) };
  }

  async #completed(applicationId: string, head: FeedHead, page: FeedPage): Promise<FeedHead> {
    await this.#store.complete(applicationId, page);
    const { number, tag, allUntilMs, newestMs } = page;
    return { ...head, last: number, tag, allUntilMs, newestMs };
  }

  /**
   * The first ones of those found, with what belongs before them, in the order of their places; progress that was
   * replaced and came too late; and, where there are too many (`isCut`), the others. Progress that came too late and may
   * yet be sent waits, unless so much of it does that nothing else would be seen.
   */
  async #inOrder(applicationId: string, found: readonly Unplaced[]) {
    const first = firstOf(found, mostTransactions);
    const highest = new Map<string, number>();
    for (const { orderKey, sequence } of first) {
      highest.set(orderKey, Math.max(sequence, highest.get(orderKey) ?? 0));
    }
    const known = new Set(first.map(({ id }) => id));
    const { unplaced, placedUpTo } = await this.#store.ofTransactions(applicationId, mayHaveEarlier(first));
    // One that was stored behind the look may have one before it that this reader has not seen.
    const earlier = unplaced.filter(
      ({ id, orderKey, sequence }) => !known.has(id) && sequence <= (highest.get(orderKey) ?? 0),
    );
    const all = inFeedOrder([...first, ...earlier]);
    const late = new Set(tooLate(all, placedUpTo));
    const replaced = [...late].filter(({ progress }) => progress === 'replaced');
    const isCut = first.length < found.length;
    const inTime = all.filter((one) => !late.has(one));
    const isStuck = inTime.length === 0 && (isCut || found.length > mostOfALook);
    return { inOrder: isStuck ? all : inTime, replaced, later: found.slice(first.length), isCut };
  }

  /** Until then it is not removed; what is open is kept from its end on. */
  #endOf({ expireAtMs }: Unplaced | Resent, nowMs: number): number {
    return expireAtMs === undefined ? this.#keptUntil(nowMs) : expireAtMs - clockMarginMs;
  }

  /** Until then none of these is removed, nor what comes later. */
  #untilOf(ones: readonly Unplaced[], nowMs: number): number {
    return Math.min(this.#keptUntil(nowMs), ...ones.map((one) => this.#endOf(one, nowMs)));
  }

  /** What has not ended by then is kept until then. */
  #keptUntil(ms: number): number {
    return ms + this.#keptMs - clockMarginMs;
  }
}

export function monotonicMs(clock: Clock): number {
  return clock.monotonicNow?.() ?? clock.now();
}

/** What a page's making knows of its look. */
interface Seen {
  readonly nowMs: number;
  readonly laterUntilMs: number;
  readonly gapFromMs?: number;
}

/** 64 random bits. */
function newTag(): string {
  return randomBytes(8).toString('base64url');
}
