import type { Delivery } from './delivery.ts';

const maxKeys = 50_000;

/**
 * Finds the sequence of the previous delivery of an order key. If the previous delivery was tried, no earlier delivery
 * has to be searched in the database. The sequence is known only while this instance reads the partition without a gap,
 * because during a gap another instance may have stored deliveries of the order key.
 */
export class PreviousSequences {
  /** By partition: the next offset, and the number of the current stretch of events without a gap. */
  readonly #partitions = new Map<string, { next: number; stretch: number }>();
  readonly #last = new Map<string, { sequence: number; stretch: number }>();
  #stretches = 0;

  /**
   * Must be called for each event in the order of the log; `position` is partition:offset. Returns the highest sequence
   * before this event, or null if not known.
   */
  before(position: string, { order, orderKey, sequence }: Delivery): number | null {
    const stretch = this.#stretchOf(position);
    if (order !== 'tried') return null;
    const last = this.#last.get(orderKey);
    const known = last?.stretch === stretch ? last.sequence : undefined;
    this.#last.delete(orderKey);
    this.#last.set(orderKey, { sequence: Math.max(known ?? 0, sequence), stretch });
    if (this.#last.size > maxKeys) this.#last.delete(this.#last.keys().next().value as string);
    return known ?? null;
  }

  #stretchOf(position: string): number {
    const cut = position.indexOf(':');
    const partition = position.slice(0, cut);
    const offset = Number(position.slice(cut + 1));
    const known = this.#partitions.get(partition);
    const stretch = known?.next === offset ? known.stretch : ++this.#stretches;
    this.#partitions.set(partition, { next: offset + 1, stretch });
    return stretch;
  }
}
