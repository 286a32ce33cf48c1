import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** Runs a piece of work when its turn has come; answers or throws what the work does. */
export type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Lets at most `limit` pieces of work run at a time; the others wait in order. Beyond `mostWaiting` it throws
 * `unavailable`: headsets that come and go while a service hangs leave what they waited for behind.
 */
export function createLimiter(limit: number, mostWaiting: number): Limiter {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= limit && waiting.length >= mostWaiting) throw crowded();
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}

function crowded(): DomainError {
  return new DomainError('unavailable', 'The service is overloaded.', {
    internal: 'too many headsets wait for their turn already',
    retryAfterMs: 1000,
  });
}
