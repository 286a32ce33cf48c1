import { type Clock, monotonicMs } from '@headset-cloud/kit/clock.ts';
import { expiredCursor, type FeedPosition, positionOf, unknownCursor } from '../domain/feed-cursor.ts';
import type { FeedHead, FeedPage, FeedStore } from '../ports.ts';
import { type Extended, FeedPages, type PagesOptions, slowMs } from './pages.ts';
import { type FeedAnswer, type FeedRequest, Reading } from './reading.ts';
import { walk } from './walk.ts';

/** The clock of a process may differ from the database's by this much. */
const clocksDifferMs = 2 * 3_600_000;

export interface FeedOptions extends PagesOptions {
  /** The shortest time that a delivery is kept after its end; milliseconds. */
  readonly keptMs: number;
}

/**
 * The event feed of each application (ADR 0053): all readers see its deliveries in the same order, and nothing is ever
 * put behind a cursor that was given. Deliveries get their places when they are first asked for (`FeedPages`).
 */
export class Feed {
  readonly #store: FeedStore;
  readonly #clock: Clock;
  readonly #pages: FeedPages;
  readonly #validMs: number;

  constructor(options: FeedOptions) {
    const { keptMs } = options;
    this.#store = options.store;
    this.#clock = options.clock;
    // Who gave the cursor its time, who stores an end, and who judges the cursor.
    this.#validMs = Math.max(keptMs - 3 * clocksDifferMs, keptMs / 2);
    this.#pages = new FeedPages(options);
  }

  /** Throws invalid_argument for a cursor with which nobody can go on; the message says what to do. */
  async read(request: FeedRequest): Promise<FeedAnswer> {
    const { applicationId, after, fromMs, filter } = request;
    const beganMs = monotonicMs(this.#clock);
    const asked = after === undefined ? undefined : positionOf(applicationId, filter, after);
    const nowMs = this.#clock.now();
    const head = await this.#pages.head(applicationId);
    const begin = asked
      ? await this.#known(applicationId, head, asked)
      : await this.#beginning(applicationId, head, { fromMs, nowMs });
    const reading = new Reading(request, begin);
    const isSlow = () => reading.hasGotOn && monotonicMs(this.#clock) - beganMs > slowMs;
    const end = await this.#readOn(reading, { applicationId, head, isSlow });
    if (reading.empty.length > 0) await this.#store.remove(applicationId, reading.empty);
    return reading.answer(reading.at.page > end.head.last ? end.drainedAtMs : undefined);
  }

  /** Until there is enough, or nothing more. */
  async #readOn(reading: Reading, { applicationId, head, isSlow }: On): Promise<Extended> {
    let end: Extended = { head };
    let pages: readonly FeedPage[] = [];
    while (!reading.isFull && !isSlow()) {
      const from = reading.at.page;
      if (from > end.head.last) {
        if (end.drainedAtMs !== undefined) break;
        end = await this.#pages.extended(applicationId, end.head);
        continue;
      }
      pages = pages.filter(({ number }) => number >= from);
      if (pages.length === 0) {
        pages = await this.#store.pages(applicationId, from, end.head.last, reading.nextPages());
      }
      const { isMeant } = reading;
      const stretches = walk(reading.at, pages, { isMeant, ...reading.nextPlaces() });
      const meant = stretches.flatMap(({ entries }) => entries.filter(isMeant));
      const found = await this.#store.deliveries(meant.map(({ id }) => id));
      reading.take(stretches, found, this.#clock.now());
      if (pages.length === 0) reading.toEnd(end.head);
    }
    return end;
  }

  /**
   * The position, with what else is known of it. Throws invalid_argument where no such one was ever given, or not of this
   * database (ADR 0035), and where what the reader is to see may have had its time.
   */
  async #known(applicationId: string, head: FeedHead, asked: FeedPosition): Promise<FeedPosition> {
    const { page, place, tag } = asked;
    const isAtEnd = page === head.last + 1;
    if (page > head.last + 1 || (isAtEnd && (place > 0 || tag !== head.tag))) throw unknownCursor();
    const isValid = (sinceMs: number) => this.#clock.now() <= sinceMs + this.#validMs;
    if (isValid(asked.sinceMs)) return asked;
    // Whoever keeps a cursor while nothing comes may go on with it, whoever saw first that something has come.
    const next = isAtEnd || place > 0 ? undefined : await this.#store.page(applicationId, page);
    const sinceMs = isAtEnd ? head.sinceMs : next?.before === tag ? next.sinceBeforeMs : 0;
    if (!isValid(sinceMs)) throw expiredCursor();
    return { ...asked, sinceMs };
  }

  /** Before the oldest page that is there, of those with an event from `fromMs` on. */
  async #beginning(
    applicationId: string,
    head: FeedHead,
    { fromMs = 0, nowMs }: Begin,
  ): Promise<FeedPosition> {
    const from = fromMs > 0 ? await this.#firstSince(applicationId, head, fromMs) : head.start;
    const [first] = from > head.last ? [] : await this.#store.pages(applicationId, from, head.last, 1);
    if (!first) return { page: head.last + 1, place: 0, tag: head.tag, sinceMs: nowMs };
    if (from === head.start && first.number > from) await this.#store.startFrom(applicationId, first.number);
    return { page: first.number, place: 0, tag: first.before, sinceMs: nowMs };
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
}

interface Begin {
  readonly fromMs: number | undefined;
  /** Before the head was read. */
  readonly nowMs: number;
}

interface On {
  readonly applicationId: string;
  readonly head: FeedHead;
  readonly isSlow: () => boolean;
}
