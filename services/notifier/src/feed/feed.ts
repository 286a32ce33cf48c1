import { randomBytes } from 'node:crypto';
import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { Delivery } from '../domain/delivery.ts';
import { type EventSubject, fits, subjectOf } from '../domain/event.ts';
import {
  cursorOf,
  expiredCursor,
  type FeedFilter,
  type FeedPosition,
  positionOf,
  unknownCursor,
} from '../domain/feed-cursor.ts';
import { inFeedOrder, mayHaveEarlier, type Resent, tooLate, type Unplaced } from '../domain/feed-order.ts';
import type { FeedHead, FeedPage, FeedStore } from '../ports.ts';

/** Deliveries that get their places together. */
const pageSize = 100;
/**
 * Pages that are made of one look at what has no place: a store that sorts all of it for each look (the stand-in for
 * MongoDB does) would be asked once for each page otherwise.
 */
const mostPagesOfALook = 10;
const mostOfALook = mostPagesOfALook * pageSize;
/** Events that one request looks at, whether they fit its filter or not. */
const mostExamined = 1000;
/** Places that one request passes over: forgotten ones, and those of what was sent again for who does not ask for it. */
const mostPassed = 10_000;
/** Pages that are read at once. */
const mostPagesAtOnce = 64;
/** Deliveries that are read at once. */
const readAtOnce = 200;
/** No further event is added to a response once its bodies have so many bytes. */
const mostBytes = 1 << 20;
/** Who begins without a cursor misses nothing that he could know of. */
const knowsAll = Number.POSITIVE_INFINITY;
/** Clocks of processes may differ by this much. */
const clockMarginMs = 2 * 3_600_000;
/** How often a reader who finds nothing new has it stored that nothing was lost. */
const stillAllEveryMs = 3_600_000;

export interface FeedEvent extends EventSubject {
  readonly delivery: Delivery;
  /** 0: its one place; otherwise it stands there since it was sent again, for so many times. */
  readonly resends: number;
}

export interface FeedRequest {
  readonly applicationId: string;
  /** Undefined: from the oldest event that is kept. */
  readonly after: string | undefined;
  /**
   * Without `after`: begins with the first event that was created then or later, milliseconds since 1970. What has no
   * place yet comes behind, whenever it was created.
   */
  readonly fromMs?: number | undefined;
  /** Shows also what was sent again. */
  readonly withResends?: boolean | undefined;
  readonly limit: number;
  readonly filter: FeedFilter;
}

export interface FeedAnswer {
  readonly events: readonly FeedEvent[];
  readonly cursor: string;
  readonly more: boolean;
}

export interface FeedOptions {
  readonly store: FeedStore;
  readonly clock: Clock;
  /** The shortest time that a delivery is kept after its end; milliseconds. */
  readonly keptMs: number;
}

/**
 * The event feed of each application (ADR 0053). Deliveries get their places when they are first asked for, one page
 * after the other: storing a page under its number is what decides between readers and instances, and a page is made
 * only when all deliveries of the one before it are marked. So all readers see the same order, and nothing is ever
 * put behind a cursor that was given.
 */
export class Feed {
  readonly #store: FeedStore;
  readonly #clock: Clock;
  readonly #keptMs: number;

  constructor({ store, clock, keptMs }: FeedOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#keptMs = keptMs;
  }

  /** Throws invalid_argument for a cursor with which nobody can go on; the message says what to do. */
  async read(request: FeedRequest): Promise<FeedAnswer> {
    const { applicationId, after, fromMs, limit, filter, withResends = false } = request;
    let head = await this.#head(applicationId);
    let at =
      after === undefined
        ? await this.#beginning(applicationId, head, fromMs)
        : positionOf(applicationId, filter, after);
    const isAtEnd = at.page === head.last + 1;
    if (at.page > head.last + 1 || (isAtEnd && (at.place > 0 || at.tag !== head.tag))) throw unknownCursor();
    const isFiltered = filter.types.length > 0 || filter.deviceId !== '';
    const events: FeedEvent[] = [];
    const isMeant = ({ id, resends }: FeedEntry) => id !== '' && (resends === 0 || withResends);
    let [examined, passed, bytes, drained] = [0, 0, 0, false];
    let pagesAtOnce = Math.ceil(limit / pageSize) + 1;
    const isFull = () =>
      events.length >= limit || examined >= mostExamined || passed >= mostPassed || bytes >= mostBytes;
    while (!isFull()) {
      if (at.page > head.last) {
        if (drained) break;
        ({ head, drained } = await this.#extended(applicationId, head));
        continue;
      }
      const pages = await this.#store.pages(applicationId, at.page, head.last, pagesAtOnce);
      pagesAtOnce = Math.min(2 * pagesAtOnce, mostPagesAtOnce);
      const most = Math.min(
        readAtOnce,
        mostExamined - examined,
        isFiltered ? readAtOnce : limit - events.length,
      );
      const { entries, behind } = await this.#walk(applicationId, at, pages, {
        ...{ isMeant, most, mostInAll: mostPassed - passed },
      });
      const found = await this.#store.deliveries(entries.filter(isMeant).map(({ id }) => id));
      let looked = 0;
      for (const entry of entries) {
        if (isFull()) break;
        looked++;
        if (!isMeant(entry)) {
          passed++;
          continue;
        }
        examined++;
        // What is not there was forgotten (ADR 0047): a page whose deliveries had their time is refused.
        const delivery = found.get(entry.id);
        const subject = delivery && subjectOf(delivery);
        if (!subject || !fits(subject, filter)) continue;
        events.push({ delivery, resends: entry.resends, ...subject });
        bytes += delivery.body.byteLength;
      }
      at = behind(looked);
    }
    const more = at.page <= head.last || !drained;
    const behind = { ...at, began: Math.min(at.began, head.last) };
    return { events, cursor: cursorOf(applicationId, filter, behind), more };
  }

  async #head(applicationId: string): Promise<FeedHead> {
    const found = await this.#store.head(applicationId);
    if (found) return found;
    const allUntilMs = this.#keptUntil(this.#clock.now());
    const first = { last: 0, tag: newTag(), start: 1, allUntilMs, newestMs: 0 };
    await this.#store.begin(applicationId, first);
    return (await this.#store.head(applicationId)) ?? first;
  }

  /** Before the oldest page whose deliveries are all kept, of those with an event from `fromMs` on. */
  async #beginning(applicationId: string, head: FeedHead, fromMs = 0): Promise<FeedPosition> {
    const nowMs = this.#clock.now();
    for (let from = await this.#firstSince(applicationId, head, fromMs); from <= head.last; ) {
      const pages = await this.#store.pages(applicationId, from, head.last, mostPagesAtOnce);
      const first = pages.find(({ keptUntilMs }) => nowMs <= keptUntilMs);
      if (first) return { page: first.number, place: 0, tag: first.before, began: knowsAll };
      from = (pages.at(-1)?.number ?? head.last) + 1;
    }
    return { page: head.last + 1, place: 0, tag: head.tag, began: knowsAll };
  }

  /** The first page with an event that was created then or later, or one before it that is not kept. */
  async #firstSince(applicationId: string, { start, last, newestMs }: FeedHead, fromMs: number) {
    if (fromMs <= 0) return start;
    let [from, behind] = newestMs < fromMs ? [last + 1, last + 1] : [start, last];
    while (from < behind) {
      const middle = Math.floor((from + behind) / 2);
      const page = await this.#store.page(applicationId, middle);
      // One that is gone had its time before those behind it.
      if (!page || page.newestMs < fromMs) from = middle + 1;
      else behind = middle;
    }
    return from;
  }

  /** What is on the places from a position on, and the position behind the first ones of them. */
  async #walk(
    applicationId: string,
    at: FeedPosition,
    pages: readonly FeedPage[],
    { isMeant, most, mostInAll }: Walk,
  ) {
    const [first] = pages;
    if (first?.number !== at.page) return this.#expired(applicationId, at.page);
    const isKnown = at.place === 0 ? at.tag === first.before : at.tag === first.tag;
    if (!isKnown || at.place > first.ids.length) throw unknownCursor();
    const entries: FeedEntry[] = [];
    let meant = 0;
    const isEnough = () => meant === most || entries.length === mostInAll;
    const ends: { readonly page: FeedPage; readonly from: number; readonly count: number }[] = [];
    let [number, place] = [at.page, at.place];
    for (const page of pages) {
      if (isEnough()) break;
      // A page before it is missing, or nobody can say what is: told when nothing before it is left to be read.
      const isGone = page.number !== number || this.#clock.now() > page.keptUntilMs;
      if (isGone || (page.gap && place === 0 && page.number > at.began)) break;
      let count = 0;
      for (const entry of entriesOf(page).slice(place)) {
        if (isEnough()) break;
        entries.push(entry);
        count++;
        if (isMeant(entry)) meant++;
      }
      ends.push({ page, from: place, count });
      if (place + count < page.ids.length) break;
      [number, place] = [number + 1, 0];
    }
    if (ends.length === 0) return this.#expired(applicationId, at.page, first.gap);
    const behind = (count: number): FeedPosition => {
      let left = count;
      let now: FeedPosition = at;
      for (const { page, from, count: its } of ends) {
        if (left < its)
          return left === 0 ? now : { ...at, page: page.number, place: from + left, tag: page.tag };
        left -= its;
        const isWhole = from + its === page.ids.length;
        now = isWhole
          ? { ...at, page: page.number + 1, place: 0, tag: page.tag }
          : { ...at, page: page.number, place: from + its, tag: page.tag };
      }
      return now;
    };
    return { entries, behind };
  }

  /** A page that had its time is behind the cursor. Who begins anew begins behind it, and not with it again. */
  async #expired(applicationId: string, page: number, isGap = false): Promise<never> {
    if (!isGap) await this.#store.startFrom(applicationId, page + 1);
    throw expiredCursor();
  }

  /**
   * Gives places to what has none, some pages at most. `drained`: there is nothing more. Each page is made only if nobody
   * made one of its number before, so what was seen by the look has no place yet when it gets one.
   */
  async #extended(applicationId: string, head: FeedHead): Promise<{ head: FeedHead; drained: boolean }> {
    const nowMs = this.#clock.now();
    const [present, found, resent] = await Promise.all([
      this.#store.page(applicationId, head.last + 1),
      this.#store.unplaced(applicationId, mostOfALook + 1),
      this.#store.resent(applicationId, mostOfALook + 1),
    ]);
    // Made by a reader that has not marked its deliveries yet, or died before.
    if (present) return { head: await this.#completed(applicationId, head, present), drained: false };
    if (found.length === 0 && resent.length === 0 && nowMs <= head.allUntilMs) {
      const untilMs = this.#keptUntil(nowMs);
      if (untilMs - head.allUntilMs > stillAllEveryMs) {
        await this.#store.stillAll(applicationId, head.last, untilMs);
      }
      return { head, drained: true };
    }
    const { inOrder, late } = await this.#inOrder(applicationId, found);
    if (late.length > 0) {
      await this.#store.leaveOut(late.map(({ id }) => id));
      return { head, drained: false };
    }
    let [at, unplaced, again] = [head, inOrder, resent];
    for (let made = 0; made < mostPagesOfALook; made++) {
      const { page, ...rest } = this.#nextPage(at, unplaced, again, nowMs);
      const isMine = await this.#store.add(applicationId, page);
      const stored = isMine ? page : await this.#store.page(applicationId, page.number);
      if (!stored) throw new Error(`page ${page.number} of the feed is there and cannot be read`);
      at = await this.#completed(applicationId, at, stored);
      if (!isMine) break;
      ({ unplaced, again } = rest);
      if (unplaced.length === 0 && again.length === 0) return { head: at, drained: true };
    }
    return { head: at, drained: false };
  }

  /** The page behind the head, of what was seen at `nowMs` and has no place, and what of that comes later. */
  #nextPage(head: FeedHead, unplaced: readonly Unplaced[], resent: readonly Resent[], nowMs: number) {
    const taken = unplaced.slice(0, pageSize);
    const rest = unplaced.slice(pageSize);
    const again = resent.slice(0, pageSize - taken.length);
    const page: FeedPage = {
      number: head.last + 1,
      tag: newTag(),
      before: head.tag,
      ids: [...taken, ...again].map(({ id }) => id),
      resends: again.map(({ resends }, i) => ({ place: taken.length + i, resends })),
      keptUntilMs: Math.min(...[nowMs, ...taken, ...again].map((one) => this.#untilOf(one, nowMs))),
      // What comes later ends later; what is there and has no place has ended after it was created.
      allUntilMs: this.#keptUntil(Math.min(nowMs, ...rest.map(({ createdAtMs }) => createdAtMs))),
      newestMs: Math.max(head.newestMs, ...taken.map(({ createdAtMs }) => createdAtMs)),
      gap: nowMs > head.allUntilMs,
    };
    return { page, unplaced: rest, again: resent.slice(again.length) };
  }

  async #completed(applicationId: string, head: FeedHead, page: FeedPage): Promise<FeedHead> {
    await this.#store.complete(applicationId, page);
    const { number, tag, allUntilMs, newestMs } = page;
    return { ...head, last: number, tag, allUntilMs, newestMs };
  }

  /** What was found with what belongs before it, in the order of their places, and what of it came too late. */
  async #inOrder(applicationId: string, found: readonly Unplaced[]) {
    const known = new Set(found.map(({ id }) => id));
    const { unplaced, placedUpTo } = await this.#store.ofTransactions(applicationId, mayHaveEarlier(found));
    const inOrder = inFeedOrder([...found, ...unplaced.filter(({ id }) => !known.has(id))]);
    return { inOrder, late: tooLate(inOrder, placedUpTo) };
  }

  #untilOf(one: Unplaced | Resent | number, nowMs: number): number {
    return (typeof one === 'object' ? one.expireAtMs : undefined) ?? this.#keptUntil(nowMs);
  }

  /** What has not ended by then is kept until then. */
  #keptUntil(ms: number): number {
    return ms + this.#keptMs - clockMarginMs;
  }
}

/** How far one walks along the places. */
interface Walk {
  readonly isMeant: (entry: FeedEntry) => boolean;
  /** Of places that are meant. */
  readonly most: number;
  readonly mostInAll: number;
}

/** What stands on a place. */
interface FeedEntry {
  /** Empty: it was forgotten, or was sent again once more. */
  readonly id: string;
  /** 0: its one place. */
  readonly resends: number;
}

function entriesOf({ ids, resends }: FeedPage): FeedEntry[] {
  const again = new Map(resends.map((one) => [one.place, one.resends]));
  return ids.map((id, place) => ({ id, resends: again.get(place) ?? 0 }));
}

/** 64 random bits. */
function newTag(): string {
  return randomBytes(8).toString('base64url');
}
