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
interface PartitionState {
  readonly epoch: number;
  /** Another member has handled the events before this offset: here they get no position. */
  readonly from: number;
  /** The next offset. */
  readonly next: number;
}

/** Feed positions of events, derived from their offsets in the log (ADR 0053). */
export class LogPositions {
  readonly #o: LogPositionsOptions;
  readonly #partitions = new Map<number, PartitionState>();

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
    for (const [partition, events] of Map.groupBy(inOrder, (one) => one.partition)) {
      const [first = 0, last = 0] = [events[0]?.offset, events.at(-1)?.offset];
      let state = this.#partitions.get(partition);
      if (state?.next !== first) state = await this.#open(partition, first);
      this.#partitions.set(partition, { ...state, next: last + 1 });
    }
    return (event) => {
      const { partition, offset } = partitionAndOffset(event);
      const state = event.replayed ? undefined : this.#partitions.get(partition);
      if (!state || offset < state.from) return undefined;
      return positionText({ partition, epoch: state.epoch, offset, atMs });
    };
  }

  async #open(partition: number, first: number): Promise<PartitionState> {
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
        // Another member has got the partition and handled the events before this offset.
        return { epoch: found.epoch, from: found.offset, next: first };
      } else {
        // Both offsets are below the stored one: the topic was created again.
        await store.renew(found, Math.max(found.epoch + 1, nowS));
      }
    }
  }
}
