import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import { boundText } from '../domain/feed-position.ts';
import type { FeedStore } from '../ports/feed-store.ts';

export interface BoundsOptions {
  readonly store: Pick<FeedStore, 'partitions' | 'advance'>;
  /** By partition: the offset that the notifier's group has committed (EventLog.committed). */
  readonly committed: () => Promise<ReadonlyMap<number, number>>;
  readonly clock: Clock;
}

/** End of the readable part of the log's partitions: everything before it is stored. */
export interface Bounds {
  /** By partition. */
  readonly ends: ReadonlyMap<number, string>;
  /** Everything that was committed at this time is before the ends; milliseconds since 1970. */
  readonly atMs: number;
}

/** Time after which bounds are read again; milliseconds. */
const freshForMs = 100;

/** Reads the committed offsets for all requests of this process together (ADR 0053). */
export class BoundsReader {
  readonly #o: BoundsOptions;
  #last: { readonly bounds: Promise<Bounds>; readonly monotonicMs: number } | undefined;

  constructor(options: BoundsOptions) {
    this.#o = options;
  }

  /** Rejects while database or log are unavailable. */
  read(): Promise<Bounds> {
    const nowMs = monotonicMs(this.#o.clock);
    if (this.#last && nowMs - this.#last.monotonicMs < freshForMs) return this.#last.bounds;
    const bounds = this.#read();
    const last = { bounds, monotonicMs: nowMs };
    this.#last = last;
    bounds.catch(() => {
      if (this.#last === last) this.#last = undefined;
    });
    return bounds;
  }

  async #read(): Promise<Bounds> {
    const { store, committed, clock } = this.#o;
    const atMs = clock.now();
    // Read before the offsets: an offset of a deleted topic must not be combined with the epoch of its successor.
    const partitions = await store.partitions();
    const offsets = await committed();
    const ends = await Promise.all(
      partitions.map(async (known) => {
        const offset = offsets.get(known.partition) ?? 0;
        // The offset is stored before readers use it. A member that gets an event before this offset then knows that
        // readers may have passed the event's position.
        const {
          partition,
          epoch,
          offset: end,
        } = offset > known.offset ? await store.advance({ ...known, offset }) : known;
        return [partition, boundText(partition, epoch, end)] as const;
      }),
    );
    return { ends: new Map(ends), atMs };
  }
}
