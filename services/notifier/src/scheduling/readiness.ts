import type { Time } from '@headset-cloud/kit/clock.ts';
import type { QueueEntry } from '../domain/chain.ts';
import type { Delivery, Order } from '../domain/delivery.ts';
import { lookAgainAtMs, patienceMs } from '../domain/order.ts';
import { type DeliveryStore, predecessorLimit } from '../ports.ts';
import type { ChangeWriter } from './change-writer.ts';
import type { FinishedOrders } from './finished-orders.ts';
import type { Unrecorded } from './unrecorded.ts';

/** A lease that ends sooner than this is renewed before a request goes out. */
const leaseMarginMs = 1000;
/** How soon to look again at an earlier one that is not recorded. */
const unrecordedWaitMs = 50;

/**
 * Whether a delivery may go out now; blocked: an earlier one of its order key is not finished.
 * overtaken: a progress that is behind its time. lost: another instance has it.
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
  readonly unrecorded: Pick<Unrecorded, 'has' | 'hasLater' | 'showEarlier'>;
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
    const { store, finished, unrecorded, time } = this.#o;
    const { delivery } = entry;
    const { order, orderKey, sequence } = delivery;
    // An event can come late: published by an instance that was stopped before, or once more after a crash.
    if (order === 'ended' && delivery.replaceable) {
      // One that was taken over waits for the later one's end, which is in the database (ports.ts).
      const later = !delivery.takenOver && unrecorded.hasLater(delivery);
      if (later || (await store.isOvertaken(delivery))) return { kind: 'overtaken' };
    }
    const patience = patienceMs(delivery, entry.patientUntilMs, time.monotonicNow());
    if (patience > 0 && !finished.knows(delivery)) {
      if (!(await unrecorded.showEarlier(delivery)))
        return { kind: 'blocked', untilMs: time.now() + unrecordedWaitMs };
      const untilMs = await this.#blockedUntilMs(delivery, patience);
      if (untilMs > 0) return { kind: 'blocked', untilMs };
      finished.set(orderKey, sequence - 1);
    }
    return (await this.#owns(entry)) ? { kind: 'ready' } : { kind: 'lost' };
  }

  /** Renews the lease where it is about to end; false: another instance has taken the delivery. */
  async #owns(entry: QueueEntry): Promise<boolean> {
    const { store, unrecorded, time, leaseMs } = this.#o;
    const { id, dueAtMs } = entry.delivery;
    // Its lease begins with its record; until then the log's partition is what this instance must have.
    if (unrecorded.has(id)) return true;
    const now = time.now();
    if (dueAtMs - now > Math.min(leaseMarginMs, leaseMs / 2)) return true;
    const leaseUntilMs = now + leaseMs;
    const mine = await store.renew([id], leaseUntilMs);
    if (!mine.has(id)) return false;
    entry.delivery = { ...entry.delivery, dueAtMs: leaseUntilMs };
    return true;
  }

  /**
   * When to look again at what is before a delivery; 0: all of it is finished. Progress that nobody works on
   * is replaced. Looks further back until something blocks or nothing is left: what is replaced here, or is
   * finished and not stored so yet, may hide what blocks.
   */
  async #blockedUntilMs({ order, orderKey, sequence }: Delivery, patience: number): Promise<number> {
    const { store, time } = this.#o;
    for (let before = sequence; ; ) {
      const { found, unfinished } = await this.#lookBefore(orderKey, before, order);
      const now = time.now();
      let untilMs = 0;
      for (const p of unfinished) {
        if (p.replaceable && p.owner === null && !p.takenOver && (await store.replaceIfFree(p.id, now)))
          continue;
        untilMs = Math.max(untilMs, lookAgainAtMs(p, now, patience));
      }
      const last = found.at(-1);
      if (untilMs > 0 || !last || found.length < predecessorLimit) return untilMs;
      before = last.sequence;
    }
  }

  /**
   * One page of what is stored before `sequence`, and what of it is not finished. Events of an order key are
   * stored in their order, so one that is not stored yet comes later.
   *
   * 'tried': that one was tried stays true when it is not stored: if it goes out again after a crash, that
   * is a repeat. 'ended': one that ended without being delivered counts as finished only when that is
   * stored: otherwise it would go out after a crash, later than what followed it. One that was delivered
   * would only be repeated then (rule B10).
   */
  async #lookBefore(orderKey: string, sequence: number, order: Order) {
    const { store, writer } = this.#o;
    const look = () => store.predecessors(orderKey, sequence, order);
    let found = await look();
    if (order === 'tried') return { found, unfinished: found.filter((p) => !writer.left(p.id)) };
    const undelivered = () => found.filter((p) => writer.endOf(p.id) !== 'delivered');
    const ending = undelivered().filter((p) => writer.endOf(p.id) !== undefined);
    if (ending.length > 0) {
      await writer.stored(ending.map(({ id }) => id));
      found = await look();
    }
    return { found, unfinished: undelivered() };
  }
}
