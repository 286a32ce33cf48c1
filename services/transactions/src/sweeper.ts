import { type Clock, systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { rarely } from '@headset-cloud/runtime/rarely.ts';
import type { Canceler } from './cancel/canceler.ts';
import type { Delivery } from './delivery/delivery.ts';
import type { Outbox } from './outbox.ts';
import type { Heads } from './ports/heads.ts';
import type { OutboxStore } from './ports/outbox-store.ts';
import type { StoredTransaction } from './ports/stored-transaction.ts';
import type { Transitions } from './ports/transitions.ts';

const batch = 200;

/**
 * Finishes work that a crash left: callbacks owed but not in the log, transactions created but not handed
 * over, floors whose cancellations are not complete. It also owes deferred progress when its interval is
 * over. It claims its work, so several sweepers may run. Work that an instance with its clock ahead left is
 * pulled back from the future first.
 */
export function createSweeper(deps: {
  store: Heads & Transitions & OutboxStore;
  outbox: Outbox;
  delivery: Delivery;
  canceler: Canceler;
  clock: Clock;
  logger: Logger;
  intervalMs: number;
  /** How long it claims work; the longest time ahead, beside `progressIntervalMs`, that work is due. */
  claimMs: number;
  /** Time between two callbacks of progress of one transaction; milliseconds. */
  progressIntervalMs: number;
  time?: Time;
}): Component & { sweep(): Promise<void> } {
  const { store, outbox, delivery, canceler, clock, logger, time = systemTime } = deps;
  let timer: Timer | undefined;
  let running: Promise<void> | undefined;
  let stopped = false;

  /** A report of progress that came too soon is owed when its interval is over (rule A9). */
  const progressDue = async (t: StoredTransaction, sinceMs: number): Promise<void> => {
    const now = clock.now();
    const dueAt = sinceMs + deps.progressIntervalMs;
    // A time further ahead than the interval was written by a clock that was ahead.
    if (now < dueAt && dueAt <= now + deps.progressIntervalMs) {
      await store.setDue(t.id, t.outboxSeq, dueAt);
      return;
    }
    const owed = await store.oweProgress(t.id, now);
    if (owed) outbox.publish(owed);
  };

  /**
   * Work that is due further ahead than a right clock writes is due now. Rarely, because an instance whose
   * clock is behind takes all work for such: one more look at it does no harm, one at every sweep would.
   */
  const aheadMs = 2 * Math.max(deps.claimMs, deps.progressIntervalMs);
  const recall = rarely(clock, aheadMs, async () => {
    const now = clock.now();
    await Promise.all([store.recall(now + aheadMs, now), store.recallFloors(now + aheadMs, now)]);
  });

  const sweep = async (): Promise<void> => {
    const now = clock.now();
    const until = now + deps.claimMs;
    await recall();
    for (const deviceId of await store.claimDueFloors(now, until, batch)) {
      const floor = await store.floorOf(deviceId);
      if (floor) await canceler.cancelBelowFloor(deviceId, floor);
    }
    for (let more = true; more && !stopped; ) {
      const due = await store.claimDue(now, until, batch);
      const idle: StoredTransaction[] = [];
      for (const t of due) {
        if (t.outbox.length > 0) outbox.publish(t);
        if (t.status === 'created') delivery.deliver(t);
        if (t.progressDeferredSinceMs !== undefined) await progressDue(t, t.progressDeferredSinceMs);
        else if (t.outbox.length === 0 && t.status !== 'created') idle.push(t);
      }
      // Nothing is left to do, so the due time is removed and the sweeper does not find it again.
      if (idle.length > 0)
        await store.clearOutbox(idle.map(({ id, outboxSeq }) => ({ id, outboxSeq, deferred: false })));
      if (due.length > 0) logger.info({ count: due.length }, 'the sweeper handled leftover transactions');
      more = due.length === batch;
    }
  };
  const schedule = (): void => {
    if (stopped) return;
    timer = time.setTimeout(() => {
      running = sweep()
        .catch((error) => logger.warn({ err: error }, 'sweep failed; it runs again at the next interval'))
        .finally(() => {
          running = undefined;
          schedule();
        });
    }, deps.intervalMs);
    timer.unref();
  };
  return {
    name: 'transactions sweeper',
    sweep,
    async start() {
      schedule();
    },
    async stop() {
      stopped = true;
      time.clearTimer(timer);
      await running;
    },
  };
}
