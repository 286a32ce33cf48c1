import { systemTime, type Time, type Timer } from './clock.ts';
import { errorText } from './error-text.ts';
import { DomainError, isTransient } from './errors.ts';
import type { Logger } from './logger.ts';

/** Error of every wait of the start if the process stops before the start is complete. */
export class StartStoppedError extends Error {
  override readonly name = 'StartStoppedError';
}

/** State of the start, for long work during the start. */
export interface Starting {
  /** Aborted with a StartStoppedError when the process stops. */
  readonly signal: AbortSignal;
  /** Sets the current work of the start, for /readyz; undefined: none. */
  doing(what: string | undefined): void;
}

/**
 * Retries the steps of a start that need a store until the store is available, so that a process waits for
 * its database and broker, not ready, instead of exiting.
 */
export interface StartUp extends Starting {
  /** Resolves with the result of `work` once it succeeds; an error that is not transient is thrown. */
  retry<T>(what: string, work: () => Promise<T>): Promise<T>;
  /**
   * Returns the current work of the start, or the dependency for which it waits, with the number of tries and the
   * reason. Undefined if there is neither.
   */
  waitsFor(): string | undefined;
  /** Ends every current and later wait with a StartStoppedError. */
  stop(): void;
}

const firstWaitMs = 100;
const longestWaitMs = 2000;

export function createStartUp(logger: Logger, time: Time = systemTime): StartUp {
  const waiting = new Map<string, { tries: number; reason: string }>();
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => {});
  const stopping = new AbortController();
  let currentWork: string | undefined;
  return {
    signal: stopping.signal,
    doing(what) {
      currentWork = what;
    },
    async retry(what, work) {
      for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
        try {
          const answer = await Promise.race([stopped.promise, work()]);
          if (waiting.delete(what)) logger.info(`${what}: done`);
          return answer;
        } catch (error) {
          if (!isTransient(error)) throw error;
          const tries = (waiting.get(what)?.tries ?? 0) + 1;
          const reason = (error instanceof DomainError && error.internal) || errorText(error);
          waiting.set(what, { tries, reason });
          // One log line per wait, not one per try.
          if (tries === 1) logger.warn({ err: error }, `waiting for ${what}, retrying`);
        }
        let timer: Timer | undefined;
        const pause = new Promise<void>((resolve) => {
          timer = time.setTimeout(resolve, waitMs);
        });
        await Promise.race([stopped.promise, pause]).finally(() => time.clearTimer(timer));
      }
    },
    waitsFor() {
      // The current work takes precedence: a wait for the same step, which another process ran, may still be in
      // `waiting`.
      if (currentWork) return currentWork;
      const [first] = waiting;
      if (!first) return undefined;
      const [what, { tries, reason }] = first;
      return `waits for ${what} (tried ${tries} times): ${reason}`;
    },
    stop() {
      const error = new StartStoppedError('stopped before the start was complete');
      stopping.abort(error);
      stopped.reject(error);
    },
  };
}
