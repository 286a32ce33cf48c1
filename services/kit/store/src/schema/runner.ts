import { systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import { DomainError, isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Store } from '../types.ts';
import { nextStep, type ServiceSteps, type Step, stepText } from './steps.ts';

/** The steps that a database has: the document `steps` of the collection `schema`. */
export interface StepsDocument {
  _id: string;
  /** The highest completed step; 0: none. */
  done: number;
  /** Id of the run that executes the next step; absent: no step is running. */
  holder?: string;
  /**
   * Heartbeat that the holder increments (ADR 0014: it replaces times, because clocks of other processes may be wrong).
   */
  beat: number;
}

export const stepsCollection = 'schema';
export const stepsId = 'steps';

const defaultLeaseMs = 10_000;
const progressEveryMs = 10_000;

export interface StepRunnerOptions {
  readonly store: Store;
  readonly steps: ServiceSteps;
  readonly logger: Logger;
  /** Identifies this run. */
  readonly holder: string;
  /** A holder counts as dead if its heartbeat has not risen for this long; milliseconds, default 10 s. */
  readonly leaseMs?: number;
  /** True: no other process can have the store open, so any holder in the document is dead. */
  readonly alone?: boolean;
  /** Ends an attempt: releases the step and throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Called each time the current work changes; undefined: no step is running. */
  readonly doing?: (what: string | undefined) => void;
  readonly time?: Time;
}

/** Runs the missing steps of a database. */
export interface StepRunner {
  /**
   * Resolves when all steps are done. While another process runs a step, throws a transient DomainError: retry
   * with the same runner, which watches whether the other process is alive.
   */
  attempt(): Promise<void>;
}

/**
 * A runner of one database's steps. Several runners are safe: one holds the step, the others wait. If the
 * holder dies, another runner runs the step again from its beginning. This is safe even if the holder is still alive:
 * MongoDB ignores the creation of an existing index, and waits for an index that is being built.
 */
export function createStepRunner(options: StepRunnerOptions): StepRunner {
  const { store, steps, logger, holder, alone = false, signal, doing = () => {} } = options;
  const { leaseMs = defaultLeaseMs, time = systemTime } = options;
  const documents = store.collection<StepsDocument>(stepsCollection);
  /** The last heartbeat of another holder, and when it was first read. */
  let lastBeat: { readonly holder: string; readonly beat: number; readonly sinceMs: number } | undefined;

  async function read(): Promise<StepsDocument> {
    for (;;) {
      const found = await documents.findOne({ _id: stepsId });
      if (found) return found;
      try {
        await documents.insertOne({ _id: stepsId, done: 0, beat: 0 });
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    }
  }

  /** True if there is no holder, or its beat has not changed for the length of a lease. */
  function isFree({ holder: other, beat }: StepsDocument): boolean {
    if (other === undefined || alone) return true;
    const now = time.monotonicNow();
    if (lastBeat?.holder !== other || lastBeat.beat !== beat)
      lastBeat = { holder: other, beat, sinceMs: now };
    return now - lastBeat.sinceMs >= leaseMs;
  }

  async function claim(state: StepsDocument): Promise<boolean> {
    if (!isFree(state)) return false;
    const { done, beat, holder: other } = state;
    const { matchedCount } = await documents.updateOne(
      { _id: stepsId, done, beat, holder: other ?? { $exists: false } },
      { $set: { holder }, $inc: { beat: 1 } },
    );
    if (matchedCount === 1 && other !== undefined)
      logger.warn({ holder: other }, 'taking over the step of a dead process');
    return matchedCount === 1;
  }

  /** Runs the step and stores its number, or releases the step. */
  async function carryOut(step: Step, done: number): Promise<void> {
    const what = stepText(steps, step);
    const beganMs = time.monotonicNow();
    let at = '';
    const beat = repeatedly(time, leaseMs / 4, async () => {
      await documents.updateOne({ _id: stepsId, holder }, { $inc: { beat: 1 } });
    });
    const progress = time.setInterval(() => {
      logger.info(
        { collection: at, forMs: Math.round(time.monotonicNow() - beganMs) },
        `${what} is still running`,
      );
    }, progressEveryMs);
    try {
      logger.info(`${what} begins`);
      await untilAborted(
        makeIndexes(store, step, (collection) => {
          at = collection;
          doing(`runs ${what}: indexes of ${collection}`);
        }),
        signal,
      );
      // Has no effect if another run has taken over in the meantime; that run stores the same result.
      await documents.updateOne(
        { _id: stepsId, holder, done },
        { $set: { done: step.number }, $unset: { holder: '' } },
      );
      logger.info({ tookMs: Math.round(time.monotonicNow() - beganMs) }, `${what} is done`);
    } catch (error) {
      // If this fails, the lease expires.
      await documents.updateOne({ _id: stepsId, holder }, { $unset: { holder: '' } }).catch(() => {});
      throw error;
    } finally {
      time.clearTimer(beat);
      time.clearTimer(progress);
      doing(undefined);
    }
  }

  return {
    async attempt() {
      if (steps.steps.length === 0) return;
      for (;;) {
        signal?.throwIfAborted();
        const state = await read();
        const step = nextStep(steps, state.done);
        if (!step) return;
        if (!(await claim(state))) {
          throw new DomainError('unavailable', `another process runs ${stepText(steps, step)}`);
        }
        await carryOut(step, state.done);
      }
    },
  };
}

async function makeIndexes(store: Store, step: Step, begins: (collection: string) => void): Promise<void> {
  const make = async (within: Store): Promise<void> => {
    for (const [name, indexes] of Object.entries(step.indexes)) {
      begins(name);
      if (indexes.length > 0) await within.collection(name).createIndexes([...indexes]);
    }
  };
  await (store.forLongWork ? store.forLongWork(make) : make(store));
}

/** Runs `work` at an interval, one run at a time. Ignores failures, because the next run repeats the work. */
function repeatedly(time: Time, everyMs: number, work: () => Promise<void>): Timer {
  let running = false;
  return time.setInterval(() => {
    if (running) return;
    running = true;
    work()
      .catch(() => {})
      .finally(() => {
        running = false;
      });
  }, everyMs);
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
