import { type Clock, systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { rarely } from '@headset-cloud/runtime/rarely.ts';
import type { Canceler } from './cancel/canceler.ts';
import type { Dispatcher } from './dispatch/dispatcher.ts';
import type { Outbox } from './outbox.ts';
import type { DeviceCountersStore } from './ports/device-counters.ts';
import type { OutboxStore } from './ports/outbox-store.ts';
import type { StoredTransaction } from './ports/stored-transaction.ts';
import type { Transitions } from './ports/transitions.ts';

/** Devices per claim of cancellations. */
const devicesAtOnce = 200;
/** Transactions per claim; few, because a transaction may have 1 MiB. */
const claimedAtOnce = 16;
/** Started transactions, and size of their operations, at which the sweeper waits until all of them have ended. */
const maxStarted = 200;
const maxStartedBytes = 8 * 1024 * 1024;

/**
 * Completes work after a crash: publishes pending callbacks, dispatches created transactions, completes cancellations
 * below the minimum activation epoch. Also publishes deferred progress when its interval is over. Several sweepers may
 * run, because each claims its work. Rarely, also corrects due times that were written by a clock that was ahead.
 */
export function createSweeper(deps: {
  store: DeviceCountersStore & Transitions & OutboxStore;
  outbox: Outbox;
  dispatcher: Dispatcher;
  canceler: Canceler;
  clock: Clock;
  logger: Logger;
  intervalMs: number;
  /** Duration of a claim; milliseconds. */
  claimMs: number;
  /** Time between two progress callbacks of one transaction; milliseconds. */
  progressIntervalMs: number;
  time?: Time;
}): Component & { sweep(): Promise<void> } {
  const { store, outbox, dispatcher, canceler, clock, logger, time = systemTime } = deps;
  let timer: Timer | undefined;
  let running: Promise<void> | undefined;
  let stopped = false;

  /** Publishes a deferred progress report if its interval is over (rule A9). */
  const publishDeferred = async (
    t: StoredTransaction,
    sinceMs: number,
    started: Promise<void>[],
  ): Promise<void> => {
    const now = clock.now();
    const dueAt = sinceMs + deps.progressIntervalMs;
    // A time further in the future than the interval was written by a clock that was ahead.
    if (now < dueAt && dueAt <= now + deps.progressIntervalMs) {
      await store.setDue(t.id, t.outboxSeq, dueAt);
      return;
    }
    const published = await store.publishDeferredProgress(t.id, now);
    if (published) started.push(outbox.publish(published));
  };

  /** A correct clock writes no due time that is further in the future; milliseconds. */
  const aheadMs = 2 * Math.max(deps.claimMs, deps.progressIntervalMs);
  /**
   * Makes transactions with impossible due times due now. Runs rarely: if this instance's clock is behind, all due
   * times seem impossible, and a correction at every sweep would repeat all work.
   */
  const correctDueTimes = rarely(clock, aheadMs, async () => {
    const now = clock.now();
    await Promise.all([
      store.correctDueTimes(now + aheadMs, now),
      store.correctCancellationDueTimes(now + aheadMs, now),
    ]);
  });

  const sweep = async (): Promise<void> => {
    const now = clock.now();
    await correctDueTimes();
    for (const deviceId of await store.claimDueCancellations(now, now + deps.claimMs, devicesAtOnce)) {
      const minimumEpoch = await store.minimumEpochOf(deviceId);
      if (minimumEpoch) await canceler.cancelBelowMinimumEpoch(deviceId, minimumEpoch);
    }
    const started: Promise<void>[] = [];
    let [startedBytes, count] = [0, 0];
    for (let more = true; more && !stopped; ) {
      // An earlier batch may have waited for a long time.
      const until = Math.max(now, clock.now()) + deps.claimMs;
      const due = await store.claimDue(now, until, claimedAtOnce);
      const idle: StoredTransaction[] = [];
      for (const t of due) {
        startedBytes += t.operation.length;
        if (t.outbox.length > 0) started.push(outbox.publish(t));
        if (t.status === 'created') started.push(dispatcher.dispatch(t));
        const sinceMs = t.progressDeferredSinceMs;
        if (sinceMs !== undefined) await publishDeferred(t, sinceMs, started);
        else if (t.outbox.length === 0 && t.status !== 'created') idle.push(t);
      }
      // These transactions need no work: without a due time the sweeper does not find them again.
      if (idle.length > 0)
        await store.clearOutbox(idle.map(({ id, outboxSeq }) => ({ id, outboxSeq, deferred: false })));
      count += due.length;
      // A claim gets fewer if another instance claims at the same time.
      more = due.length > 0;
      // Without this wait the memory grows with the backlog while device-link or the log is unavailable. The wait ends,
      // because calls to both have deadlines.
      if (!more || started.length >= maxStarted || startedBytes >= maxStartedBytes) {
        await Promise.all(started);
        started.length = 0;
        startedBytes = 0;
      }
    }
    if (count > 0) logger.info({ count }, 'unfinished transactions processed');
  };
  const schedule = (): void => {
    if (stopped) return;
    timer = time.setTimeout(() => {
      running = sweep()
        .catch((error) => logger.warn({ err: error }, 'sweep failed, retrying at the next interval'))
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
