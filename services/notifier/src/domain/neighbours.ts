import type { Delivery } from './delivery.ts';

const maxKeys = 50_000;

/**
 * Tells which delivery was stored just before another one under its order key, so that whoever knows
 * that one to be tried need not ask the database whether others lie between. It is known only while
 * this instance has read a partition without a gap: otherwise another instance may have stored some.
 */
export class Neighbours {
  /** By partition: the offset that comes next, and a number for each stretch without a gap. */
  readonly #partitions = new Map<string, { next: number; stretch: number }>();
  readonly #last = new Map<string, { sequence: number; stretch: number }>();
  #stretches = 0;

  /**
   * To be called for each event in the order of the log; `position` is partition:offset. Answers the
   * sequence of the one before, or null when it is not known.
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
