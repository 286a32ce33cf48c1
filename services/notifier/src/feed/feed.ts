import type { Clock } from '@headset-cloud/kit/clock.ts';
import { expiredCursor, type FeedPosition, positionOf, unknownCursor } from '../domain/feed-cursor.ts';
import type { FeedHead, FeedPage, FeedStore } from '../ports.ts';
import { FeedPages, monotonicMs, type PagesOptions, slowMs } from './pages.ts';
import { type FeedAnswer, type FeedRequest, Reading } from './reading.ts';
import { walk } from './walk.ts';

/**
 * The event feed of each application (ADR 0053): all readers see its deliveries in the same order, and nothing is ever
 * put behind a cursor that was given. Deliveries get their places when they are first asked for (`FeedPages`).
 */
export class Feed {
  readonly #store: FeedStore;
  readonly #clock: Clock;
  readonly #pages: FeedPages;

  constructor(options: PagesOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#pages = new FeedPages(options);
  }

  /** Throws invalid_argument for a cursor with which nobody can go on; the message says what to do. */
  async read(request: FeedRequest): Promise<FeedAnswer> {
    const { applicationId, after, fromMs, filter } = request;
    const beganMs = monotonicMs(this.#clock);
    let head = await this.#pages.head(applicationId);
    let drained = false;
    // What has been lost by now was so before this reader began.
    if (after === undefined && this.#clock.now() > head.allUntilMs) {
      ({ head, drained } = await this.#pages.extended(applicationId, head));
    }
    const begin =
      after === undefined
        ? await this.#beginning(applicationId, head, fromMs)
        : positionOf(applicationId, filter, after);
    requireKnown(begin, head);
    const reading = new Reading(request, begin);
    const isSlow = () => reading.hasGotOn && monotonicMs(this.#clock) - beganMs > slowMs;
    let pages: readonly FeedPage[] = [];
    while (!reading.isOver && !isSlow()) {
      const from = reading.at.page;
      if (from > head.last) {
        if (drained) break;
        ({ head, drained } = await this.#pages.extended(applicationId, head));
        continue;
      }
      pages = pages.filter(({ number }) => number >= from);
      if (pages.length === 0) {
        pages = await this.#store.pages(applicationId, from, head.last, reading.nextPages());
      }
      const { isMeant } = reading;
      const nowMs = this.#clock.now();
      const walked = walk(reading.at, head, pages, { isMeant, ...reading.nextPlaces(), nowMs });
      if (!walked) {
        reading.lose();
        break;
      }
      const found = await this.#store.deliveries(walked.entries.filter(isMeant).map(({ id }) => id));
      reading.take(walked, found, this.#clock.now());
    }
    // What is in hand is answered; the next request is told.
    const answer = reading.answer(reading.at.page <= head.last || !drained);
    if (reading.isLost && answer.events.length === 0) throw expiredCursor();
    if (reading.hasFoundNothingFrom(head.start)) {
      await this.#store.startFrom(applicationId, reading.at.page);
    }
    return answer;
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
}

/** Throws invalid_argument where no such position was ever given, or not of this database (ADR 0035). */
function requireKnown({ page, place, tag }: FeedPosition, head: FeedHead): void {
  const isAtEnd = page === head.last + 1;
  if (page > head.last + 1 || (isAtEnd && (place > 0 || tag !== head.tag))) throw unknownCursor();
}
