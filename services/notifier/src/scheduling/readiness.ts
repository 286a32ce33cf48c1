import type { Time } from '@headset-cloud/runtime/clock.ts';
import type { QueueEntry } from '../domain/chain.ts';
import type { Delivery, Order } from '../domain/delivery.ts';
import { nextCheckAtMs, remainingWaitMs } from '../domain/order.ts';
import { type DeliveryStore, predecessorLimit } from '../ports/delivery-store.ts';
import type { ChangeWriter } from './change-writer.ts';
import type { DeliveryRecords } from './delivery-records.ts';
import type { FinishedOrders } from './finished-orders.ts';

/** Remaining lease below which it is renewed before a request; milliseconds. */
const leaseMarginMs = 1000;
/** Time until the next check of an earlier delivery that is not recorded; milliseconds. */
const unrecordedWaitMs = 50;

/**
 * Whether a delivery may be sent now. blocked: an earlier delivery of its order key is not finished. overtaken: a
 * progress after a later event. lost: another instance has it.
 */
export type Readiness =
  | { kind: 'ready' }
  | { kind: 'lost' | 'overtaken' }
  | { kind: 'blocked'; untilMs: number };

export interface ReadinessOptions {
  readonly time: Time;
  readonly store: DeliveryStore;
  readonly writer: Pick<ChangeWriter, 'endOf' | 'hasLeftOrder' | 'stored'>;
  readonly finished: FinishedOrders;
  readonly records: Pick<DeliveryRecords, 'lacks' | 'hasLater' | 'waitForEarlier'>;
  readonly leaseMs: number;
}

/** Checks before each attempt whether the delivery may be sent: by its order and by its lease. */
export class ReadinessCheck {
  readonly #o: ReadinessOptions;

  constructor(options: ReadinessOptions) {
    this.#o = options;
  }

  /**
   * Checks whether all earlier deliveries of the order key are finished, and whether this instance still owns the
   * delivery: the process may have been paused for longer than its lease, or the database may have been unavailable.
   * Rejects when the database is unavailable.
   */
  async of(entry: QueueEntry): Promise<Readiness> {
    const { store, finished, records, time } = this.#o;
    const { delivery } = entry;
    const { order, orderKey, sequence } = delivery;
    // A progress can be late: its event was published by a paused process when it continued, or again after a crash.
    if (order === 'ended' && delivery.replaceable) {
      // After a takeover, only a finished later event in the database makes it obsolete (`DeliveryStore.isOvertaken`).
      const later = !delivery.takenOver && records.hasLater(delivery);
      if (later || (await store.isOvertaken(delivery))) return { kind: 'overtaken' };
    }
    const waitMs = remainingWaitMs(delivery, entry.orderWaitUntilMs, time.monotonicNow());
    if (waitMs > 0 && !finished.knows(delivery)) {
      if (!(await records.waitForEarlier(delivery)))
        return { kind: 'blocked', untilMs: time.now() + unrecordedWaitMs };
      const untilMs = await this.#blockedUntilMs(delivery, waitMs);
      if (untilMs > 0) return { kind: 'blocked', untilMs };
      finished.set(orderKey, sequence - 1);
    }
    return (await this.#owns(entry)) ? { kind: 'ready' } : { kind: 'lost' };
  }

  /** Renews the lease if it ends soon. False if another instance has taken the delivery. */
  async #owns(entry: QueueEntry): Promise<boolean> {
    const { store, records, time, leaseMs } = this.#o;
    const { id, dueAtMs } = entry.delivery;
    // The lease begins with the record. Without a record, this instance owns what it reads from the log's partition.
    if (records.lacks(id)) return true;
    const now = time.now();
    if (dueAtMs - now > Math.min(leaseMarginMs, leaseMs / 2)) return true;
    const leaseUntilMs = now + leaseMs;
    const mine = await store.renew([id], leaseUntilMs);
    if (!mine.has(id)) return false;
    entry.delivery = { ...entry.delivery, dueAtMs: leaseUntilMs };
    return true;
  }

  /**
   * Time of the next check of the deliveries before a delivery; 0 if all are finished. Replaces progress without an
   * owner. Reads page by page until a delivery blocks or no page is left: the deliveries of a page may all be replaced
   * here, or be finished without being stored yet, while a delivery of the next page blocks.
   */
  async #blockedUntilMs({ order, orderKey, sequence }: Delivery, waitMs: number): Promise<number> {
    const { store, time } = this.#o;
    for (let before = sequence; ; ) {
      const { found, unfinished } = await this.#readBefore(orderKey, before, order);
      const now = time.now();
      let untilMs = 0;
      for (const p of unfinished) {
        if (p.replaceable && p.owner === null && !p.takenOver && (await store.replaceIfFree(p.id, now)))
          continue;
        untilMs = Math.max(untilMs, nextCheckAtMs(p, now, waitMs));
      }
      const last = found.at(-1);
      if (untilMs > 0 || !last || found.length < predecessorLimit) return untilMs;
      before = last.sequence;
    }
  }

  /**
   * One page of the stored deliveries before `sequence`, and the unfinished deliveries among them. Events of an order
   * key are stored in order, so an event that is not stored comes later.
   *
   * Order 'tried': a first attempt counts before it is stored, because after a crash the delivery is only repeated.
   * Order 'ended': a success counts before it is stored, for the same reason. Another end counts only when it is
   * stored: otherwise the delivery would be sent for the first time after a crash, after later deliveries (rule B10).
   */
  async #readBefore(orderKey: string, sequence: number, order: Order) {
    const { store, writer } = this.#o;
    const read = () => store.predecessors(orderKey, sequence, order);
    let found = await read();
    if (order === 'tried') return { found, unfinished: found.filter((p) => !writer.hasLeftOrder(p.id)) };
    const undelivered = () => found.filter((p) => writer.endOf(p.id) !== 'delivered');
    const ending = undelivered().filter((p) => writer.endOf(p.id) !== undefined);
    if (ending.length > 0) {
      await writer.stored(ending.map(({ id }) => id));
      found = await read();
    }
    return { found, unfinished: undelivered() };
  }
}
