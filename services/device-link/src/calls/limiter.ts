import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** Runs `work` as soon as the limit allows it; returns or throws what `work` returns or throws. */
export type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Runs at most `limit` calls at a time; further calls wait in order. Throws `unavailable` if `mostWaiting` calls
 * wait already, because headsets that reconnect while a service hangs leave their calls behind.
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
    internal: 'too many headsets wait for a call to this service',
    retryAfterMs: 1000,
  });
}
