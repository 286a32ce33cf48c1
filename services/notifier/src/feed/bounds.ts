import { type Clock, monotonicMs } from '@headset-cloud/kit/clock.ts';
import { boundText } from '../domain/feed-position.ts';
import type { FeedStore } from '../ports.ts';

export interface BoundsOptions {
  readonly store: Pick<FeedStore, 'partitions' | 'advance'>;
  /** By partition: what the notifier's group has committed (EventLog.committed). */
  readonly committed: () => Promise<ReadonlyMap<number, number>>;
  readonly clock: Clock;
}

/** Up to where the partitions of the log may be read: everything before is stored. */
export interface Bounds {
  /** By partition. */
  readonly ends: ReadonlyMap<number, string>;
  /** Everything that was committed then is before them; milliseconds since 1970. */
  readonly atMs: number;
}

/** Bounds are read again after this. */
const freshForMs = 100;

/** Reads the offsets that are committed, for all requests of this process together (ADR 0053). */
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
    // Before the offsets: offsets of a topic that was made again do not fit an epoch before it.
    const partitions = await store.partitions();
    const offsets = await committed();
    const ends = await Promise.all(
      partitions.map(async (known) => {
        const offset = offsets.get(known.partition) ?? 0;
        // Stored before it is used: a member that finds an event before it knows that readers have passed it.
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
