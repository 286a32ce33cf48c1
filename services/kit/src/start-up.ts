import { systemTime, type Time, type Timer } from './clock.ts';
import { DomainError, isTransient } from './errors.ts';
import { errorText } from './eventlog/events.ts';
import type { Logger } from './logger.ts';

/** Thrown by every wait when the process is told to stop before it has started. */
export class StartStoppedError extends Error {
  override readonly name = 'StartStoppedError';
}

/** What work of a start that may take long knows of the start. */
export interface Starting {
  /** Aborted with a StartStoppedError when the process is told to stop. */
  readonly signal: AbortSignal;
  /** Says what the start is doing now, for /readyz; undefined: no more. */
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
   * What the start is doing, or what it waits for, how often that was tried, and why it failed; undefined when
   * neither takes long.
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
  let now: string | undefined;
  return {
    signal: stopping.signal,
    doing(what) {
      now = what;
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
          if (tries === 1) logger.warn({ err: error }, `the start waits for ${what}; it is tried again`);
        }
        let timer: Timer | undefined;
        const pause = new Promise<void>((resolve) => {
          timer = time.setTimeout(resolve, waitMs);
        });
        await Promise.race([stopped.promise, pause]).finally(() => time.clearTimer(timer));
      }
    },
    waitsFor() {
      // A step that another process has begun may be waited for first, and then be run.
      if (now) return now;
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
