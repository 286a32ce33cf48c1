import { type LogEvent, partitionAndOffset } from '@headset-cloud/eventlog/types.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { positionText } from '../domain/feed-position.ts';
import type { FeedStore } from '../ports/feed-store.ts';

export interface LogPositionsOptions {
  readonly store: Pick<FeedStore, 'partitions' | 'addPartition' | 'renew' | 'advance'>;
  /** By partition: the offset that the notifier's group has committed (EventLog.committed). */
  readonly committed: () => Promise<ReadonlyMap<number, number>>;
  readonly clock: Clock;
}

/** State of a partition while its events come without a gap. */
interface Known {
  readonly epoch: number;
  /** Events before this offset belong to another member. */
  readonly from: number;
  /** The next offset. */
  readonly next: number;
}

/** Feed positions of events, derived from their offsets in the log (ADR 0053). */
export class LogPositions {
  readonly #o: LogPositionsOptions;
  readonly #known = new Map<number, Known>();

  constructor(options: LogPositionsOptions) {
    this.#o = options;
  }

  /**
   * Must be called for each batch in the order of the log. Returns a function that gives the position of an event of
   * the batch; undefined if it has none. Rejects while the database or the log is unavailable.
   */
  async of(events: readonly LogEvent[]): Promise<(event: LogEvent) => string | undefined> {
    const atMs = this.#o.clock.now();
    const inOrder = events.filter(({ replayed }) => !replayed).map(partitionAndOffset);
    for (const [partition, places] of Map.groupBy(inOrder, (one) => one.partition)) {
      const [first = 0, last = 0] = [places[0]?.offset, places.at(-1)?.offset];
      let known = this.#known.get(partition);
      if (known?.next !== first) known = await this.#open(partition, first);
      this.#known.set(partition, { ...known, next: last + 1 });
    }
    return (event) => {
      const { partition, offset } = partitionAndOffset(event);
      const known = event.replayed ? undefined : this.#known.get(partition);
      if (!known || offset < known.from) return undefined;
      return positionText({ partition, epoch: known.epoch, offset, atMs });
    };
  }

  async #open(partition: number, first: number): Promise<Known> {
    const { store, committed, clock } = this.#o;
    for (;;) {
      const found = (await store.partitions()).find((one) => one.partition === partition);
      const nowS = Math.floor(clock.now() / 1000);
      const handled = (await committed()).get(partition) ?? 0;
      if (!found) {
        await store.addPartition({ partition, epoch: nowS, offset: handled });
      } else if (first >= found.offset) {
        await store.advance({ ...found, offset: Math.min(handled, first) });
        return { epoch: found.epoch, from: 0, next: first };
      } else if (handled >= found.offset) {
        // Another member has the partition, and has handled these events.
        return { epoch: found.epoch, from: found.offset, next: first };
      } else {
        await store.renew(found, Math.max(found.epoch + 1, nowS));
      }
    }
  }
}
