import { randomBytes } from 'node:crypto';
import { type Clock, monotonicMs } from '@headset-cloud/kit/clock.ts';
import {
  firstOf,
  inFeedOrder,
  mayHaveEarlier,
  type Resent,
  tooLate,
  type Unplaced,
} from '../domain/feed-order.ts';
import type { FeedHead, FeedPage, FeedStore } from '../ports.ts';

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
/** How often it is noted that a look has seen all. */
const noteEveryMs = 3_600_000;
/** A page is removed so long after the last of its deliveries: a process may be frozen for a day before it ends one. */
const outlivesMs = 3 * 86_400_000;

export interface PagesOptions {
  readonly store: FeedStore;
  readonly clock: Clock;
  /** The longest time that a delivery is kept after its end; milliseconds. */
  readonly longestMs: number;
  /** The longest time from a delivery's creation to its end; milliseconds. */
  readonly openMs: number;
}

/** How far the feed goes. */
export interface Extended {
  readonly head: FeedHead;
  /** What was stored then has its place; undefined: there may be more. */
  readonly drainedAtMs?: number;
}

/**
 * Gives deliveries their places (ADR 0053), one page after the other: storing a page under its number is what decides
 * between readers and instances, and a page is made only when all deliveries of the one before it are marked.
 */
export class FeedPages {
  readonly #store: FeedStore;
  readonly #clock: Clock;
  readonly #longestMs: number;
  readonly #openMs: number;

  constructor({ store, clock, longestMs, openMs }: PagesOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#longestMs = longestMs;
    this.#openMs = openMs;
  }

  async head(applicationId: string): Promise<FeedHead> {
    const found = await this.#store.head(applicationId);
    if (found) return found;
    const first = { last: 0, tag: newTag(), start: 1, sinceMs: 0, newestMs: 0 };
    await this.#store.begin(applicationId, first);
    return (await this.#store.head(applicationId)) ?? first;
  }

  /**
   * Gives places to what has none, some pages at most. Each page is made only if nobody made one of its number before,
   * so what was seen by the look has no place yet when it gets one.
   */
  async extended(applicationId: string, head: FeedHead): Promise<Extended> {
    const nowMs = this.#clock.now();
    const beganMs = monotonicMs(this.#clock);
    const [present, found, again] = await Promise.all([
      this.#store.page(applicationId, head.last + 1),
      this.#store.unplaced(applicationId, mostOfALook + 1),
      this.#store.resent(applicationId, mostOfALook + 1),
    ]);
    // Made by a reader that has not marked its deliveries yet, or died before.
    if (present) return { head: await this.#completed(applicationId, head, present) };
    const { inOrder, replaced, isCut } = await this.#inOrder(applicationId, found);
    if (replaced.length > 0) {
      await this.#store.leaveOut(replaced.map(({ id }) => id));
      return { head };
    }
    const isWhole = !isCut && found.length <= mostOfALook && again.length <= mostOfALook;
    let look: Look = { unplaced: inOrder, resent: again.filter(({ isPlaced }) => isPlaced), nowMs, isWhole };
    for (let [at, count] = [head, 1]; ; count++) {
      if (look.unplaced.length === 0 && look.resent.length === 0) {
        // Another reader may have made and marked a page between the looks, which then saw nothing of it.
        const made = at === head ? await this.#store.page(applicationId, head.last + 1) : undefined;
        if (made) return { head: await this.#completed(applicationId, head, made) };
        if (isWhole) await this.#noteWhole(applicationId, at, nowMs);
        return { head: at, ...(isWhole && { drainedAtMs: nowMs }) };
      }
      const isLong = monotonicMs(this.#clock) - beganMs > slowMs;
      if (count > 1 && (count > mostPagesOfALook || isLong)) return { head: at };
      const { page, rest } = this.#nextPage(at, look);
      const isMine = await this.#store.add(applicationId, page);
      const stored = isMine ? page : await this.#store.page(applicationId, page.number);
      if (!stored) throw new Error(`page ${page.number} of the feed is there and cannot be read`);
      at = await this.#completed(applicationId, at, stored);
      if (!isMine) return { head: at };
      look = rest;
    }
  }

  /** So that a reader who keeps a cursor while nothing comes may go on with it, whenever something does. */
  async #noteWhole(applicationId: string, { last, sinceMs }: FeedHead, nowMs: number): Promise<void> {
    if (nowMs - sinceMs > noteEveryMs) await this.#store.wholeAt(applicationId, last, nowMs);
  }

  /** The page behind the head, and what of the look comes later. */
  #nextPage(head: FeedHead, look: Look): { readonly page: FeedPage; readonly rest: Look } {
    const { nowMs, isWhole } = look;
    const taken = look.unplaced.slice(0, pageSize);
    const again = look.resent.slice(0, pageSize - taken.length);
    const all = [...taken, ...again];
    const rest = {
      ...look,
      unplaced: look.unplaced.slice(taken.length),
      resent: look.resent.slice(again.length),
    };
    const isLast = rest.unplaced.length === 0 && rest.resent.length === 0;
    const ends = all.flatMap(({ expireAtMs }) => expireAtMs ?? []);
    const page: FeedPage = {
      number: head.last + 1,
      tag: newTag(),
      before: head.tag,
      ids: all.map(({ id }) => id),
      resends: again.map(({ resends }, i) => ({ place: taken.length + i, resends })),
      sinceBeforeMs: head.sinceMs,
      sinceMs: isWhole && isLast ? nowMs : head.sinceMs,
      newestMs: Math.max(head.newestMs, ...taken.map(({ createdAtMs }) => createdAtMs)),
      madeAtMs: nowMs,
      removedAtMs: Math.max(nowMs + this.#openMs + this.#longestMs, ...ends) + outlivesMs,
    };
    return { page, rest };
  }

  async #completed(applicationId: string, head: FeedHead, page: FeedPage): Promise<FeedHead> {
    await this.#store.complete(applicationId, page);
    const { number, tag, sinceMs, newestMs } = page;
    return { ...head, last: number, tag, sinceMs, newestMs };
  }

  /**
   * The first ones of those found, with what belongs before them, in the order of their places; progress that was
   * replaced and came too late; and whether there are others (`isCut`). Progress that came too late and may yet be sent
   * waits, unless so much of it does that nothing else would be seen.
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
    return { inOrder: isStuck ? all : inTime, replaced, isCut };
  }
}

/** What is left of a look at what has no place. */
interface Look {
  readonly unplaced: readonly Unplaced[];
  readonly resent: readonly Resent[];
  readonly nowMs: number;
  /** It has seen all. */
  readonly isWhole: boolean;
}

/** 64 random bits. */
function newTag(): string {
  return randomBytes(8).toString('base64url');
}
