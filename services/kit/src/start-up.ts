import { isTransient } from './errors.ts';
import { errorText } from './eventlog/events.ts';
import type { Logger } from './logger.ts';

/** Thrown by what was waiting when the process was told to stop before it had started. */
export class StartStoppedError extends Error {
  override readonly name = 'StartStoppedError';
}

/**
 * What a start needs of stores that may be away: tried again until they are there, so that a process
 * waits for its database and broker, not ready, instead of ending.
 */
export interface StartUp {
  /** Resolves with `work`'s answer once it has one; a failure that does not pass is thrown. */
  retry<T>(what: string, work: () => Promise<T>): Promise<T>;
  /** What is waited for, how often it was tried, and why it failed; undefined: nothing. */
  waitsFor(): string | undefined;
  /** Ends every wait, now and later, by a StartStoppedError. */
  stop(): void;
}

const firstWaitMs = 100;
const longestWaitMs = 2000;

export function createStartUp(logger: Logger): StartUp {
  const waiting = new Map<string, { tries: number; reason: string }>();
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => {});
  return {
    async retry(what, work) {
      for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
        try {
          const answer = await Promise.race([stopped.promise, work()]);
          if (waiting.delete(what)) logger.info(`${what}: done`);
          return answer;
        } catch (error) {
          if (!isTransient(error)) throw error;
          const tries = (waiting.get(what)?.tries ?? 0) + 1;
          waiting.set(what, { tries, reason: errorText(error) });
          // One line for each wait, not one for each try.
          if (tries === 1) logger.warn({ err: error }, `the start waits for ${what}; it is tried again`);
        }
        let timer: NodeJS.Timeout | undefined;
        const pause = new Promise<void>((resolve) => {
          timer = setTimeout(resolve, waitMs);
        });
        await Promise.race([stopped.promise, pause]).finally(() => clearTimeout(timer));
      }
    },
    waitsFor() {
      const [first] = waiting;
      if (!first) return undefined;
      const [what, { tries, reason }] = first;
      return `waits for ${what} (tried ${tries} times): ${reason}`;
    },
    stop() {
      stopped.reject(new StartStoppedError('stopped before the start was complete'));
    },
  };
}
