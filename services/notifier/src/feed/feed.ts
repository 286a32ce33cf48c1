import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Delivery } from '../domain/delivery.ts';
import { type EventSubject, fits, subjectOf } from '../domain/event.ts';
import { cursorFrom, cursorText, expiredCursor, type FeedFilter } from '../domain/feed-cursor.ts';
import { ownPartition, positionOf, startText } from '../domain/feed-position.ts';
import type { FeedKey, FeedStore } from '../ports/feed-store.ts';
import { lastBefore, type Part } from './beginning.ts';
import { type Bounds, BoundsReader } from './bounds.ts';
import { OwnStream } from './own-stream.ts';

/**
 * Margin for differences of three clocks, two hours each: the process that dated the cursor, the process that stored
 * the end of a delivery, and the process that checks the cursor. Milliseconds.
 */
const clocksDifferMs = 3 * 2 * 3_600_000;
/** How far the clock of a publisher may be ahead of the notifier's clock; milliseconds. */
const publishersDifferMs = 5 * 60_000;
/** Maximum events that one request reads, whether they match its filter or not. */
const mostExamined = 1000;
/** Deliveries that are read at once. */
const readAtOnce = 200;
/** No event is added to a response after its bodies have this many bytes. */
const mostBytes = 1 << 20;

export interface FeedOptions {
  readonly store: FeedStore;
  /** By partition: the offset that the notifier's group has committed (EventLog.committed). */
  readonly committed: () => Promise<ReadonlyMap<number, number>>;
  readonly clock: Clock;
  /** Minimum retention of a delivery after its end; milliseconds. */
  readonly keptMs: number;
}

export interface FeedEvent extends EventSubject {
  readonly delivery: Delivery;
  /** 0 for its first position; otherwise the number of resends. */
  readonly resends: number;
}

export interface FeedRequest {
  readonly applicationId: string;
  /** Undefined: starts with the oldest stored event. */
  readonly after: string | undefined;
  /**
   * Used without `after`: the feed starts with the events that were created at this time or later, and some minutes
   * earlier because of differing clocks. Milliseconds since 1970.
   */
  readonly fromMs?: number | undefined;
  /** True to include resends. */
  readonly withResends?: boolean | undefined;
  readonly limit: number;
  readonly filter: FeedFilter;
}

export interface FeedAnswer {
  readonly events: readonly FeedEvent[];
  readonly cursor: string;
  readonly more: boolean;
}

/** The event feed of each application (ADR 0053): no event appears before a cursor that was issued. */
export class Feed {
  readonly #store: FeedStore;
  readonly #clock: Clock;
  readonly #bounds: BoundsReader;
  readonly #own: OwnStream;
  readonly #validMs: number;

  constructor(options: FeedOptions) {
    const { store, clock, keptMs } = options;
    this.#store = store;
    this.#clock = clock;
    this.#validMs = Math.max(keptMs - clocksDifferMs, keptMs / 2);
    this.#bounds = new BoundsReader(options);
    this.#own = new OwnStream(store, clock);
  }

  /** Throws invalid_argument for a cursor that cannot be continued; the message contains the next step. */
  async read(request: FeedRequest): Promise<FeedAnswer> {
    const { applicationId, after, fromMs = 0, filter } = request;
    const nowMs = this.#clock.now();
    const asked = after === undefined ? undefined : cursorFrom(applicationId, filter, after);
    if (asked && nowMs > asked.sinceMs + this.#validMs) throw expiredCursor();
    const positions = asked?.positions ?? (await this.#beginning(applicationId, fromMs, nowMs));
    const reading = new Reading(request, positions);
    const bounds = await this.#bounds.read();
    const { ends, isWhole } = await this.#ends(applicationId, bounds);
    let wholeAtMs: number | undefined;
    while (!reading.isFull && wholeAtMs === undefined) {
      if (!(await this.#readOn(reading, ends))) continue;
      if (!isWhole) break;
      wholeAtMs = bounds.atMs;
    }
    const cursor = {
      positions: [...reading.at.values()],
      sinceMs: Math.max(wholeAtMs ?? 0, asked?.sinceMs ?? nowMs),
    };
    return {
      events: reading.events,
      cursor: cursorText(applicationId, filter, cursor),
      more: wholeAtMs === undefined,
    };
  }

  /** End of the readable part: by partition, including the application's own stream. */
  async #ends(applicationId: string, bounds: Bounds) {
    const { end, isWhole } = await this.#own.bound(applicationId);
    return { ends: new Map([...bounds.ends, [ownPartition, end]]), isWhole };
  }

  /** Reads some events. Returns true if there are no more before the ends. */
  async #readOn(reading: Reading, ends: ReadonlyMap<number, string>): Promise<boolean> {
    const limit = reading.next;
    const found = await Promise.all(
      reading.parts(ends).map(async ({ end, ...part }) => {
        const after = reading.at.get(part.partition) ?? startText(part.partition);
        const isBefore = after < end;
        const keys = isBefore ? await this.#store.keys({ ...part, after, before: end, limit }) : [];
        return { partition: part.partition, keys };
      }),
    );
    const keys = merged(found, limit);
    const deliveries = await this.#store.deliveries(keys.map(({ id }) => id));
    for (const key of keys) {
      if (reading.isFull) return false;
      reading.take(key, deliveries.get(key.id));
    }
    if (keys.length === limit) return false;
    reading.end(ends);
    return true;
  }

  /** Positions before the first event that was created at `fromMs` or later; 0: before all events. */
  async #beginning(applicationId: string, fromMs: number, nowMs: number): Promise<string[]> {
    if (fromMs === 0) return [];
    const { ends } = await this.#ends(applicationId, await this.#bounds.read());
    if (fromMs > nowMs + publishersDifferMs) return [...ends.values()];
    const found = await Promise.all(
      [...ends].map(async ([partition, end]) => {
        const of = partsOf({ applicationId, partition, end, withResends: true });
        const texts = await Promise.all(
          of.map((part) => lastBefore(this.#store, part, fromMs - publishersDifferMs)),
        );
        return texts.reduce((a, b) => ((a ?? '') > (b ?? '') ? a : b));
      }),
    );
    return found.filter((text) => text !== undefined);
  }
}

function partsOf(of: Omit<Part, 'field'> & { readonly withResends: boolean }): Part[] {
  const { withResends, ...part } = of;
  const first: Part = { ...part, field: 'position' };
  return withResends && part.partition === ownPartition ? [first, { ...part, field: 'again' }] : [first];
}

/** The first keys of all parts: each partition in its order, and partitions by the times of their next events. */
function merged(
  parts: readonly { readonly partition: number; readonly keys: readonly FeedKey[] }[],
  limit: number,
): FeedKey[] {
  const queues = [...Map.groupBy(parts, ({ partition }) => partition).values()].map((of) =>
    of.flatMap(({ keys }) => keys).sort((a, b) => (a.position < b.position ? -1 : 1)),
  );
  const next = queues.map(() => 0);
  const all: FeedKey[] = [];
  while (all.length < limit) {
    let first = -1;
    for (const [i, keys] of queues.entries()) {
      const key = keys[next[i] as number];
      const least = queues[first]?.[next[first] as number];
      if (key && (!least || key.timeMs < least.timeMs)) first = i;
    }
    const key = queues[first]?.[next[first] as number];
    if (!key) break;
    all.push(key);
    (next[first] as number)++;
  }
  return all;
}

/** One request: the collected events, the read positions, and whether the page is complete. */
class Reading {
  readonly events: FeedEvent[] = [];
  /** Read position by partition. */
  readonly at: Map<number, string>;
  readonly #request: FeedRequest;
  readonly #isFiltered: boolean;
  #examined = 0;
  #bytes = 0;

  constructor(request: FeedRequest, positions: readonly string[]) {
    this.#request = request;
    this.#isFiltered = request.filter.types.length > 0 || request.filter.deviceId !== '';
    this.at = new Map(positions.map((text) => [positionOf(text).partition, text]));
  }

  get isFull(): boolean {
    const { length } = this.events;
    return length >= this.#request.limit || this.#examined >= mostExamined || this.#bytes >= mostBytes;
  }

  /** Number of events to read next. */
  get next(): number {
    const wanted = this.#isFiltered ? readAtOnce : this.#request.limit - this.events.length;
    return Math.min(readAtOnce, mostExamined - this.#examined, wanted);
  }

  parts(ends: ReadonlyMap<number, string>): Part[] {
    const { applicationId, withResends = false } = this.#request;
    return [...ends].flatMap(([partition, end]) => partsOf({ applicationId, partition, end, withResends }));
  }

  /** Everything before these ends was read. */
  end(ends: ReadonlyMap<number, string>): void {
    // A reader that includes resends only later must not get resends from before.
    const own = ends.get(ownPartition) ?? '';
    if (own > (this.at.get(ownPartition) ?? '')) this.at.set(ownPartition, own);
  }

  /** `delivery` is undefined if it was removed in the meantime. */
  take({ position, resends }: FeedKey, delivery: Delivery | undefined): void {
    this.at.set(positionOf(position).partition, position);
    this.#examined++;
    if (!delivery) return;
    const subject = subjectOf(delivery);
    if (!fits(subject, this.#request.filter)) return;
    this.events.push({ delivery, resends, ...subject });
    this.#bytes += delivery.body.byteLength;
  }
}
