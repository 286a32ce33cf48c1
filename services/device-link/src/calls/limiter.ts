import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** Runs `work` as soon as the limit allows it. Returns the result of `work`, or throws its error. */
export type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Runs at most `limit` calls at a time; further calls wait in order. Throws `unavailable` if `maxWaiting` calls wait
 * already. The number of waiting calls needs a limit: while a service hangs, headsets disconnect and reconnect, and the
 * calls of their ended sessions still wait.
 */
export function createLimiter(limit: number, maxWaiting: number): Limiter {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= limit && waiting.length >= maxWaiting) throw overloaded();
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

function overloaded(): DomainError {
  return new DomainError('unavailable', 'The service is overloaded.', {
    internal: 'too many headsets wait for a call to this service',
    retryAfterMs: 1000,
  });
}
