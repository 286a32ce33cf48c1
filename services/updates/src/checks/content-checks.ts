import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { ContentChecks } from '../ports/content-checks.ts';
import { checkInProcess } from './check-process.ts';
import { createSlots } from './slots.ts';

/**
 * Maximum number of files that wait for their check in this process: of all developers, and of one developer. Other
 * files wait in the database.
 */
const [maxWaiting, maxWaitingOfDeveloper] = [100, 20];

export interface RunningContentChecks extends ContentChecks {
  running(): number;
  waiting(): number;
  /** Aborts the running checks. Other instances repeat them. */
  stop(): Promise<void>;
}

/** Checks contents, `atOnce` at a time; the slots are shared among developers. */
export function createContentChecks(options: { atOnce: number; timeoutMs: number }): RunningContentChecks {
  const slots = createSlots({
    atOnce: options.atOnce,
    waiting: maxWaiting,
    waitingOfOne: maxWaitingOfDeveloper,
  });
  const stopping = new AbortController();
  const running = new Set<Promise<unknown>>();

  const check: ContentChecks['check'] = async (developerId, declared, fetch) => {
    const release = await slots.take(developerId, stopping.signal);
    if (!release) return undefined;
    try {
      const copy = await fetch(stopping.signal);
      try {
        const limit = { timeoutMs: options.timeoutMs, signal: stopping.signal };
        return (await checkInProcess(copy.path, declared, limit)).verdict;
      } finally {
        await copy.dispose();
      }
    } finally {
      release();
    }
  };

  return {
    check(...args) {
      const checking = check(...args);
      running.add(checking);
      const over = () => running.delete(checking);
      checking.then(over, over);
      return checking;
    },
    running: slots.taken,
    waiting: slots.waiting,
    async stop() {
      stopping.abort(new DomainError('unavailable', 'The service is stopping.', { retryAfterMs: 1000 }));
      await Promise.allSettled(running);
    },
  };
}
