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
const pageSize = 100;
/**
 * Pages that are made of one look at what has no place: a store that sorts all of it for each look (the stand-in for
 * MongoDB does) would be asked once for each page otherwise.
 */
const mostPagesOfALook = 10;
const mostOfALook = mostPagesOfALook * pageSize;
/** A request that has got on is answered after this time, and no further page is made so long after a look. */
const mostMakingMs = 500;
/** Transactions whose other callbacks are looked for together. */
const mostTransactions = 100;
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
/** Clocks of processes may differ by this much. */
const clockMarginMs = 2 * 3_600_000;
/** A page is removed so long after the last of its deliveries. */
const emptyForMs = 86_400_000;
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
  /** The longest such time; milliseconds. */
  readonly longestMs: number;
  /** The longest time from a delivery's creation to its end; milliseconds. */
  readonly openMs: number;
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
  readonly #longestMs: number;
  readonly #openMs: number;

  constructor({ store, clock, keptMs, longestMs, openMs }: FeedOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#keptMs = keptMs;
    this.#longestMs = longestMs;
    this.#openMs = openMs;
  }

  /** Throws invalid_argument for a cursor with which nobody can go on; the message says what to do. */
  async read(request: FeedRequest): Promise<FeedAnswer> {
    const { applicationId, after, fromMs, limit, filter, withResends = false } = request;
    const beganMs = this.#monotonicMs();
    let head = await this.#head(applicationId);
    let drained = false;
    // What has been lost by now was so before this reader began.
    if (after === undefined && this.#clock.now() > head.allUntilMs) {
      ({ head, drained } = await this.#extended(applicationId, head));
    }
    const begin =
      after === undefined
        ? await this.#beginning(applicationId, head, fromMs)
        : positionOf(applicationId, filter, after);
    const isAtEnd = begin.page === head.last + 1;
    if (begin.page > head.last + 1 || (isAtEnd && (begin.place > 0 || begin.tag !== head.tag))) {
      throw unknownCursor();
    }
    const isFiltered = filter.types.length > 0 || filter.deviceId !== '';
    const isMeant = ({ id, resends }: FeedEntry) => id !== '' && (resends === 0 || withResends);
    const events: FeedEvent[] = [];
    let [at, examined, passed, bytes] = [begin, 0, 0, 0];
    let [isEmpty, isLost] = [true, false];
    let pages: readonly FeedPage[] = [];
    let pagesAtOnce = Math.ceil(limit / pageSize) + 1;
    const isFull = () =>
      events.length >= limit || examined >= mostExamined || passed >= mostPassed || bytes >= mostBytes;
    const isSlow = () => at !== begin && this.#monotonicMs() - beganMs > mostMakingMs;
    while (!isFull() && !isLost && !isSlow()) {
      if (at.page > head.last) {
        if (drained) break;
        ({ head, drained } = await this.#extended(applicationId, head));
        continue;
      }
      pages = pages.filter(({ number }) => number >= at.page);
      if (pages.length === 0) {
        pages = await this.#store.pages(applicationId, at.page, head.last, pagesAtOnce);
        pagesAtOnce = Math.min(2 * pagesAtOnce, mostPagesAtOnce);
      }
      // Where places turn out to be empty, many are looked at for one event.
      const wanted = isFiltered || passed > 0 ? readAtOnce : limit - events.length;
      const walked = this.#walk(at, head, pages, {
        isMeant,
        most: Math.min(readAtOnce, mostExamined - examined, wanted),
        mostInAll: mostPassed - passed,
      });
      if (!walked) {
        isLost = true;
        break;
      }
      const { entries, behind } = walked;
      const found = await this.#store.deliveries(entries.filter(isMeant).map(({ id }) => id));
      const nowMs = this.#clock.now();
      let looked = 0;
      for (const entry of entries) {
        if (isFull()) break;
        const delivery = isMeant(entry) ? found.get(entry.id) : undefined;
        if (!delivery) {
          // It was forgotten (ADR 0047), was gone when this reader began, or is not asked for; or it had its time.
          isLost = isMeant(entry) && nowMs > entry.endMs && entry.endMs >= at.beganAtMs;
          if (isLost) break;
          if (entry.id !== '' && !isMeant(entry)) isEmpty = false;
          passed++;
          looked++;
          continue;
        }
        isEmpty = false;
        looked++;
        examined++;
        const subject = subjectOf(delivery);
        if (!fits(subject, filter)) continue;
        events.push({ delivery, resends: entry.resends, ...subject });
        bytes += delivery.body.byteLength;
      }
      at = behind(looked);
    }
    // What is in hand is answered; the next request is told.
    if (isLost && events.length === 0) throw expiredCursor();
    if (isEmpty && begin.page === head.start && begin.place === 0 && at.page > begin.page) {
      await this.#store.startFrom(applicationId, at.page);
    }
    const more = at.page <= head.last || !drained;
    return { events, cursor: cursorOf(applicationId, filter, at), more };
  }

  async #head(applicationId: string): Promise<FeedHead> {
    const found = await this.#store.head(applicationId);
    if (found) return found;
    const allUntilMs = this.#keptUntil(this.#clock.now());
    const first = { last: 0, tag: newTag(), start: 1, allUntilMs, newestMs: 0 };
    await this.#store.begin(applicationId, first);
    return (await this.#store.head(applicationId)) ?? first;
  }

  /** Before the oldest page that is there, of those with an event from `fromMs` on. */
  async #beginning(applicationId: string, head: FeedHead, fromMs = 0): Promise<FeedPosition> {
    const beganAtMs = this.#clock.now();
    const from = fromMs > 0 ? await this.#firstSince(applicationId, head, fromMs) : head.start;
    const [first] = from > head.last ? [] : await this.#store.pages(applicationId, from, head.last, 1);
    if (!first) return { page: head.last + 1, place: 0, tag: head.tag, beganAtMs };
    if (from === head.start && first.number > from) await this.#store.startFrom(applicationId, first.number);
    return { page: first.number, place: 0, tag: first.before, beganAtMs };
  }

  /** The number of the first page with an event that was created then or later, or one of removed ones before it. */
  async #firstSince(applicationId: string, { start, last, newestMs }: FeedHead, fromMs: number) {
    let [from, behind] = newestMs < fromMs ? [last + 1, last + 1] : [start, last + 1];
    while (from < behind) {
      const middle = Math.floor((from + behind) / 2);
      const [page] = await this.#store.pages(applicationId, middle, behind - 1, 1);
      if (page && page.newestMs < fromMs) from = page.number + 1;
      else behind = middle;
    }
    return from;
  }

  /**
   * What is on the places from a position on, and the position behind the first ones of them. Undefined: some of what
   * comes next had its time since the reader began.
   */
  #walk(at: FeedPosition, head: FeedHead, pages: readonly FeedPage[], { isMeant, most, mostInAll }: Walk) {
    const nowMs = this.#clock.now();
    // A page is removed long after its events, so this reader never had to see those of a page that is missing.
    const knowsMissing = nowMs - at.beganAtMs < emptyForMs;
    const [first] = pages;
    if (!first) {
      const end: FeedPosition = { ...at, page: head.last + 1, place: 0, tag: head.tag };
      return knowsMissing ? { entries: [], behind: () => end } : undefined;
    }
    if (first.number === at.page) {
      const isKnown = at.place === 0 ? at.tag === first.before : at.tag === first.tag;
      if (!isKnown || at.place > first.ids.length) throw unknownCursor();
    }
    const entries: FeedEntry[] = [];
    let meant = 0;
    const isEnough = () => meant === most || entries.length === mostInAll;
    const ends: { readonly page: FeedPage; readonly from: number; readonly count: number }[] = [];
    let [number, place] = [at.page, at.place];
    for (const page of pages) {
      if (isEnough()) break;
      if (page.number !== number) {
        if (!knowsMissing) break;
        [number, place] = [page.number, 0];
      }
      // Told when nothing before it is left to be read.
      if (place === 0 && page.gapFromMs !== undefined && at.beganAtMs <= page.gapFromMs) break;
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
    if (ends.length === 0) return undefined;
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

  /**
   * Gives places to what has none, some pages at most. `drained`: there is nothing more. Each page is made only if nobody
   * made one of its number before, so what was seen by the look has no place yet when it gets one.
   */
  async #extended(applicationId: string, head: FeedHead): Promise<{ head: FeedHead; drained: boolean }> {
    const nowMs = this.#clock.now();
    const beganMs = this.#monotonicMs();
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
      const isLong = this.#monotonicMs() - beganMs > mostMakingMs;
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
    const removedAtMs = Math.max(nowMs + this.#openMs + this.#longestMs, ...ends) + emptyForMs;
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

  #monotonicMs(): number {
    return this.#clock.monotonicNow?.() ?? this.#clock.now();
  }
}

/** How far one walks along the places. */
interface Walk {
  readonly isMeant: (entry: FeedEntry) => boolean;
  /** Of places that are meant. */
  readonly most: number;
  readonly mostInAll: number;
}

/** What a page's making knows of its look. */
interface Seen {
  readonly nowMs: number;
  readonly laterUntilMs: number;
  readonly gapFromMs?: number;
}

/** What stands on a place. */
interface FeedEntry {
  /** Empty: it was forgotten, or was sent again once more. */
  readonly id: string;
  /** 0: its one place. */
  readonly resends: number;
  /** Until then it is not removed because it had its time; milliseconds since 1970. */
  readonly endMs: number;
}

function entriesOf({ ids, ends, resends }: FeedPage): FeedEntry[] {
  const again = new Map(resends.map((one) => [one.place, one.resends]));
  return ids.map((id, place) => ({ id, resends: again.get(place) ?? 0, endMs: ends[place] ?? 0 }));
}

/** 64 random bits. */
function newTag(): string {
  return randomBytes(8).toString('base64url');
}
