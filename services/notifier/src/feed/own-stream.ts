import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { boundText, ownPartition } from '../domain/feed-position.ts';
import type { FeedStore } from '../ports/feed-store.ts';

/** Maximum deliveries that get their positions together. */
const positionedAtOnce = 500;
/** Maximum lists that one request creates or completes. */
const mostLists = 4;

/**
 * An application's own stream: its notices, resends and replayed dead letters. They get their positions when the
 * application's feed is read (ADR 0053).
 */
export class OwnStream {
  readonly #store: FeedStore;
  readonly #clock: Clock;

  constructor(store: FeedStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** End of the readable part of the stream. `isWhole`: every delivery that was marked before has a position. */
  async bound(applicationId: string): Promise<{ readonly end: string; readonly isWhole: boolean }> {
    for (let lists = 0; ; ) {
      const { last, list } = await this.#store.ownStream(applicationId);
      const answer = (isWhole: boolean) => ({ end: boundText(ownPartition, 0, last + 1), isWhole });
      if (list) {
        if (lists++ === mostLists) return answer(false);
        await this.#store.assignPositions(applicationId, list);
        continue;
      }
      const entries = await this.#store.unplaced(applicationId, positionedAtOnce);
      if (entries.length === 0) return answer(true);
      const atMs = this.#clock.now();
      await this.#store.storeList(applicationId, last, { from: Math.max(last + 1, atMs), atMs, entries });
    }
  }
}
