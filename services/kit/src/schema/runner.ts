import { systemTime, type Time, type Timer } from '../clock.ts';
import { DomainError, isDuplicateKey } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Store } from '../store/types.ts';
import { nextStep, type ServiceSteps, type Step, stepText } from './steps.ts';

/** How far a database is: the one document `steps` of the collection `schema`. */
export interface StepsDocument {
  _id: string;
  /** The highest step that is done; 0: none. */
  done: number;
  /** Who runs the next one; absent: nobody. */
  holder?: string;
  /** Rises while the holder lives (ADR 0014: no clock of another process is believed). */
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
  /** Names this run among others. */
  readonly holder: string;
  /** A holder whose beat has not risen for so long is dead; milliseconds, default 10 s. */
  readonly leaseMs?: number;
  /** True: no other process can have the store open, so that a holder that is found is dead. */
  readonly alone?: boolean;
  /** Ends an attempt: it gives the step back and throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Called with what it does, each time that changes; undefined: no step is being run. */
  readonly doing?: (what: string | undefined) => void;
  readonly time?: Time;
}

/** Runs what is missing of a database's steps. */
export interface StepRunner {
  /**
   * Resolves when all steps are done. While another process runs one, throws a transient DomainError: try
   * again, with the same runner, which watches whether the other one lives.
   */
  attempt(): Promise<void>;
}

/**
 * A runner of one database's steps. Safe when several run: one holds the step, the others wait; a step whose
 * holder died is run again from its beginning, which is safe, because making an index that exists does
 * nothing, and one that is being built is waited for. So a holder that was only taken for dead does no harm.
 */
export function createStepRunner(options: StepRunnerOptions): StepRunner {
  const { store, steps, logger, holder, alone = false, signal, doing = () => {} } = options;
  const { leaseMs = defaultLeaseMs, time = systemTime } = options;
  const documents = store.collection<StepsDocument>(stepsCollection);
  let seen: { readonly holder: string; readonly beat: number; readonly sinceMs: number } | undefined;

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

  /** True when the holder, if there is one, has given no sign of life for the length of a lease. */
  function isFree({ holder: other, beat }: StepsDocument): boolean {
    if (other === undefined || alone) return true;
    const now = time.monotonicNow();
    if (seen?.holder !== other || seen.beat !== beat) seen = { holder: other, beat, sinceMs: now };
    return now - seen.sinceMs >= leaseMs;
  }

  async function claim(state: StepsDocument): Promise<boolean> {
    if (!isFree(state)) return false;
    const { done, beat, holder: other } = state;
    const { matchedCount } = await documents.updateOne(
      { _id: stepsId, done, beat, holder: other ?? { $exists: false } },
      { $set: { holder }, $inc: { beat: 1 } },
    );
    if (matchedCount === 1 && other !== undefined) logger.warn({ holder: other }, 'a dead run is continued');
    return matchedCount === 1;
  }

  /** Runs the step and records it, or gives it back. */
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
      // Matches nothing where another run has taken over meanwhile; what it does has the same result.
      await documents.updateOne(
        { _id: stepsId, holder, done },
        { $set: { done: step.number }, $unset: { holder: '' } },
      );
      logger.info({ tookMs: Math.round(time.monotonicNow() - beganMs) }, `${what} is done`);
    } catch (error) {
      // Where this fails, the lease lapses.
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

/** Runs `work` every so often, never twice at once; a failure is left to the next time. */
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
