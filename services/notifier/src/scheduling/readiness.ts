import type { Time } from '@headset-cloud/runtime/clock.ts';
import type { QueueEntry } from '../domain/chain.ts';
import type { Delivery, Order } from '../domain/delivery.ts';
import { nextCheckAtMs, patienceMs } from '../domain/order.ts';
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
  readonly writer: Pick<ChangeWriter, 'endOf' | 'left' | 'stored'>;
  readonly finished: FinishedOrders;
  readonly records: Pick<DeliveryRecords, 'lacks' | 'hasLater' | 'showEarlier'>;
  readonly leaseMs: number;
}

/** Checks before each attempt whether the delivery may be sent: by its order and by its lease. */
export class ReadinessCheck {
  readonly #o: ReadinessOptions;

  constructor(options: ReadinessOptions) {
    this.#o = options;
  }

  /**
   * Checks whether everything earlier of its order key is finished, and whether this instance still owns it: the
   * instance may have been stopped for longer than its lease, or the database may have been unavailable. Rejects when
   * the database is unavailable.
   */
  async of(entry: QueueEntry): Promise<Readiness> {
    const { store, finished, records, time } = this.#o;
    const { delivery } = entry;
    const { order, orderKey, sequence } = delivery;
    // An event can be late: published by an instance that was stopped before, or a second time after a crash.
    if (order === 'ended' && delivery.replaceable) {
      // After a takeover it waits for the end of the later event in the database (`DeliveryStore.isOvertaken`).
      const later = !delivery.takenOver && records.hasLater(delivery);
      if (later || (await store.isOvertaken(delivery))) return { kind: 'overtaken' };
    }
    const patience = patienceMs(delivery, entry.patientUntilMs, time.monotonicNow());
    if (patience > 0 && !finished.knows(delivery)) {
      if (!(await records.showEarlier(delivery)))
        return { kind: 'blocked', untilMs: time.now() + unrecordedWaitMs };
      const untilMs = await this.#blockedUntilMs(delivery, patience);
      if (untilMs > 0) return { kind: 'blocked', untilMs };
      finished.set(orderKey, sequence - 1);
    }
    return (await this.#owns(entry)) ? { kind: 'ready' } : { kind: 'lost' };
  }

  /** Renews the lease if it ends soon. False if another instance has taken the delivery. */
  async #owns(entry: QueueEntry): Promise<boolean> {
    const { store, records, time, leaseMs } = this.#o;
    const { id, dueAtMs } = entry.delivery;
    // The lease begins with the record. Until then this instance must have the log's partition.
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
   * owner. Reads further back until a delivery blocks or none is left, because deliveries that are replaced here, or
   * are finished and not stored yet, may hide one that blocks.
   */
  async #blockedUntilMs({ order, orderKey, sequence }: Delivery, patience: number): Promise<number> {
    const { store, time } = this.#o;
    for (let before = sequence; ; ) {
      const { found, unfinished } = await this.#readBefore(orderKey, before, order);
      const now = time.now();
      let untilMs = 0;
      for (const p of unfinished) {
        if (p.replaceable && p.owner === null && !p.takenOver && (await store.replaceIfFree(p.id, now)))
          continue;
        untilMs = Math.max(untilMs, nextCheckAtMs(p, now, patience));
      }
      const last = found.at(-1);
      if (untilMs > 0 || !last || found.length < predecessorLimit) return untilMs;
      before = last.sequence;
    }
  }

  /**
   * One page of the stored deliveries before `sequence`, and the unfinished ones of them. Events of an order key are
   * stored in order, so an unstored event comes later.
   *
   * 'tried': a first attempt counts before it is stored, because sending again after a crash is only a repeat. 'ended':
   * an end without a delivery counts only when it is stored, because after a crash it would be sent after its
   * followers. A delivered one would only be repeated (rule B10).
   */
  async #readBefore(orderKey: string, sequence: number, order: Order) {
    const { store, writer } = this.#o;
    const read = () => store.predecessors(orderKey, sequence, order);
    let found = await read();
    if (order === 'tried') return { found, unfinished: found.filter((p) => !writer.left(p.id)) };
    const undelivered = () => found.filter((p) => writer.endOf(p.id) !== 'delivered');
    const ending = undelivered().filter((p) => writer.endOf(p.id) !== undefined);
    if (ending.length > 0) {
      await writer.stored(ending.map(({ id }) => id));
      found = await read();
    }
    return { found, unfinished: undelivered() };
  }
}
