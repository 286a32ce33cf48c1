import type { Clock } from '@headset-cloud/kit/clock.ts';
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

/** Reads the offsets that are committed, for all requests of this process together (ADR 0053). */
export class BoundsReader {
  readonly #o: BoundsOptions;
  #last: Bounds | undefined;
  #running: Promise<Bounds> | undefined;

  constructor(options: BoundsOptions) {
    this.#o = options;
  }

  /** As they were read last. */
  get last(): Bounds | undefined {
    return this.#last;
  }

  /** Rejects while database or log are unavailable. */
  refresh(): Promise<Bounds> {
    this.#running ??= this.#read().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
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
        // Before it is used: a member that finds an event before it knows that readers have passed it.
        const { partition, epoch, offset: end } = await store.advance({ ...known, offset });
        return [partition, boundText(partition, epoch, end)] as const;
      }),
    );
    this.#last = { ends: new Map(ends), atMs };
    return this.#last;
  }
}
