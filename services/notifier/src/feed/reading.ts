import type { Delivery } from '../domain/delivery.ts';
import { type EventSubject, fits, subjectOf } from '../domain/event.ts';
import { cursorOf, type FeedFilter, type FeedPosition } from '../domain/feed-cursor.ts';
import type { FeedHead } from '../ports.ts';
import { pageSize } from './pages.ts';
import type { FeedEntry, Stretch } from './walk.ts';

/** Events that one request looks at, whether they fit its filter or not. */
const mostExamined = 1000;
/** Places that one request passes over: forgotten ones, and those of what was sent again for who does not ask for it. */
const mostPassed = 10_000;
/** Pages that are read at once. */
const mostPagesAtOnce = 64;
/** Deliveries that are read at once. */
const readAtOnce = 200;
/**
 * A page that turns out to be empty is removed so long after it was made: its maker, and then one that is to make a page
 * of the same number, may each have been frozen for a day.
 */
const keptEmptyMs = 3 * 86_400_000;
/** No further event is added to a response once its bodies have so many bytes. */
const mostBytes = 1 << 20;

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

/** One request on its way along the places: what it has got, where it is, and whether that is enough. */
export class Reading {
  readonly #request: FeedRequest;
  readonly #begin: FeedPosition;
  readonly #events: FeedEvent[] = [];
  readonly #isFiltered: boolean;
  #at: FeedPosition;
  #examined = 0;
  #passed = 0;
  #bytes = 0;
  readonly #empty: number[] = [];
  #pagesAtOnce: number;

  constructor(request: FeedRequest, begin: FeedPosition) {
    this.#request = request;
    this.#begin = begin;
    this.#at = begin;
    this.#isFiltered = request.filter.types.length > 0 || request.filter.deviceId !== '';
    this.#pagesAtOnce = Math.ceil(request.limit / pageSize) + 1;
  }

  get at(): FeedPosition {
    return this.#at;
  }

  get hasGotOn(): boolean {
    return this.#at !== this.#begin;
  }

  get isFull(): boolean {
    return (
      this.#events.length >= this.#request.limit ||
      this.#examined >= mostExamined ||
      this.#passed >= mostPassed ||
      this.#bytes >= mostBytes
    );
  }

  /** Numbers of pages on which nothing is left. */
  get empty(): readonly number[] {
    return this.#empty;
  }

  readonly isMeant = ({ id, resends }: FeedEntry): boolean =>
    id !== '' && (resends === 0 || this.#request.withResends === true);

  /** How many pages to read next: where places turn out to be empty, more and more. */
  nextPages(): number {
    const pages = this.#pagesAtOnce;
    this.#pagesAtOnce = Math.min(2 * pages, mostPagesAtOnce);
    return pages;
  }

  /** How far to walk next. */
  nextPlaces(): { readonly most: number; readonly mostInAll: number } {
    // Where places turn out to be empty, many are looked at for one event.
    const isSparse = this.#isFiltered || this.#passed > 0;
    const wanted = isSparse ? readAtOnce : this.#request.limit - this.#events.length;
    return {
      most: Math.min(readAtOnce, mostExamined - this.#examined, wanted),
      mostInAll: mostPassed - this.#passed,
    };
  }

  /** Takes what fits, of the deliveries that were found on these places at `nowMs`, and goes on behind them. */
  take(stretches: readonly Stretch[], found: ReadonlyMap<string, Delivery>, nowMs: number): void {
    for (const { page, from, entries } of stretches) {
      if (from === 0) this.#sinceAtLeast(page.sinceBeforeMs);
      let [place, there] = [from, 0];
      for (const entry of entries) {
        if (this.isFull) break;
        const isMeant = this.isMeant(entry);
        const delivery = isMeant ? found.get(entry.id) : undefined;
        if (delivery) this.#look(delivery, entry);
        else this.#passed++;
        // What is not meant may be there.
        if (delivery || (entry.id !== '' && !isMeant)) there++;
        place++;
      }
      if (place < page.ids.length) {
        const tag = place === 0 ? page.before : page.tag;
        this.#at = { ...this.#at, page: page.number, place, tag };
        return;
      }
      this.#at = { ...this.#at, page: page.number + 1, place: 0, tag: page.tag };
      this.#sinceAtLeast(page.sinceMs);
      if (from === 0 && there === 0 && nowMs - page.madeAtMs > keptEmptyMs) this.#empty.push(page.number);
    }
  }

  /** Goes on behind the last page. */
  toEnd({ last, tag }: FeedHead): void {
    this.#at = { ...this.#at, page: last + 1, place: 0, tag };
  }

  /** `drainedAtMs`: nothing that was stored then is behind; undefined: there is more. */
  answer(drainedAtMs: number | undefined): FeedAnswer {
    const { applicationId, filter } = this.#request;
    const at = { ...this.#at, sinceMs: Math.max(this.#at.sinceMs, drainedAtMs ?? 0) };
    return {
      events: this.#events,
      cursor: cursorOf(applicationId, filter, at),
      more: drainedAtMs === undefined,
    };
  }

  #sinceAtLeast(sinceMs: number): void {
    this.#at = { ...this.#at, sinceMs: Math.max(this.#at.sinceMs, sinceMs) };
  }

  #look(delivery: Delivery, { resends }: FeedEntry): void {
    this.#examined++;
    const subject = subjectOf(delivery);
    if (!fits(subject, this.#request.filter)) return;
    this.#events.push({ delivery, resends, ...subject });
    this.#bytes += delivery.body.byteLength;
  }
}
