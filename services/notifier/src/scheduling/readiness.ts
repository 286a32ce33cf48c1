import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { QueueEntry } from '../domain/chain.ts';
import { lookAgainAtMs, patienceMs } from '../domain/order.ts';
import { type DeliveryStore, type Predecessor, predecessorLimit } from '../ports.ts';
import type { ChangeWriter } from './change-writer.ts';
import type { FinishedOrders } from './finished-orders.ts';

/** A lease that ends sooner than this is renewed before a request goes out. */
const leaseMarginMs = 1000;

/**
 * Whether a delivery may go out now; blocked: an earlier one of its order key is not finished.
 * overtaken: a progress that is behind its time. lost: another instance has it.
 */
export type Readiness =
  | { kind: 'ready' }
  | { kind: 'lost' | 'overtaken' }
  | { kind: 'blocked'; untilMs: number };

export interface ReadinessOptions {
  readonly clock: Clock;
  readonly store: DeliveryStore;
  readonly writer: Pick<ChangeWriter, 'endOf' | 'left' | 'stored'>;
  readonly finished: FinishedOrders;
  readonly leaseMs: number;
}

/** Looks before each attempt whether the delivery may go out: by its order, and by its lease. */
export class ReadinessCheck {
  readonly #o: ReadinessOptions;

  constructor(options: ReadinessOptions) {
    this.#o = options;
  }

  /**
   * Looks whether everything earlier of its order key is finished, and whether this instance still
   * owns it: it may have been stopped for longer than its lease, or the database been away. Rejects
   * when the database cannot tell.
   */
  async of(entry: QueueEntry): Promise<Readiness> {
    const { store, clock, finished } = this.#o;
    const { delivery } = entry;
    const { order, orderKey, sequence } = delivery;
    // An event can come late: published by an instance that was stopped before, or once more after a crash.
    if (order === 'ended' && delivery.replaceable && (await store.isOvertaken(delivery)))
      return { kind: 'overtaken' };
    const patience = patienceMs(delivery, entry.patientUntilMs, performance.now());
    if (patience > 0 && !finished.knows(delivery)) {
      const earlier = await (order === 'ended'
        ? this.#unfinishedBefore(orderKey, sequence)
        : this.#untriedBefore(orderKey, sequence));
      const now = clock.now();
      let untilMs = 0;
      for (const p of earlier) {
        if (p.replaceable && p.owner === null && !p.takenOver && (await store.replaceIfFree(p.id, now)))
          continue;
        untilMs = Math.max(untilMs, lookAgainAtMs(p, now, patience));
      }
      if (untilMs > 0) return { kind: 'blocked', untilMs };
      finished.set(orderKey, sequence - 1);
    }
    return (await this.#owns(entry)) ? { kind: 'ready' } : { kind: 'lost' };
  }

  /** Renews the lease where it is about to end; false: another instance has taken the delivery. */
  async #owns(entry: QueueEntry): Promise<boolean> {
    const { store, clock, leaseMs } = this.#o;
    const { id, dueAtMs } = entry.delivery;
    const now = clock.now();
    if (dueAtMs - now > Math.min(leaseMarginMs, leaseMs / 2)) return true;
    const leaseUntilMs = now + leaseMs;
    const mine = await store.renew([id], leaseUntilMs);
    if (!mine.has(id)) return false;
    entry.delivery = { ...entry.delivery, dueAtMs: leaseUntilMs };
    return true;
  }

  /**
   * What is stored before `sequence` and not finished. Events of an order key are stored in their
   * order, so one that is not stored yet comes later. One that ended without being delivered counts
   * as finished only when that is stored: otherwise it would go out after a crash, later than what
   * followed it. One that was delivered would only be repeated then (rule B10).
   */
  async #unfinishedBefore(orderKey: string, sequence: number): Promise<Predecessor[]> {
    const { writer } = this.#o;
    const undelivered = () =>
      this.#before(orderKey, sequence, 'ended', ({ id }) => writer.endOf(id) !== 'delivered');
    const found = await undelivered();
    const ending = found.filter((p) => writer.endOf(p.id) !== undefined).map((p) => p.id);
    if (ending.length === 0) return found;
    await writer.stored(ending);
    return await undelivered();
  }

  /**
   * What is stored before `sequence` and was not tried yet. That one was tried stays true when it is
   * not stored: if it goes out again after a crash, that is a repeat.
   */
  async #untriedBefore(orderKey: string, sequence: number): Promise<Predecessor[]> {
    const { writer } = this.#o;
    return await this.#before(orderKey, sequence, 'tried', ({ id }) => !writer.left(id));
  }

  /**
   * Predecessors that count, as far as the database and the writer know together. Empty only where none
   * does: many may have left the order at once without being stored, and hide one that has not.
   */
  async #before(
    orderKey: string,
    sequence: number,
    order: 'ended' | 'tried',
    counts: (predecessor: Predecessor) => boolean,
  ): Promise<Predecessor[]> {
    for (let before = sequence; ; ) {
      const found = await this.#o.store.predecessors(orderKey, before, order);
      const counting = found.filter(counts);
      const last = found.at(-1);
      if (counting.length > 0 || !last || found.length < predecessorLimit) return counting;
      before = last.sequence;
    }
  }
}
