/** Runs a piece of work when its turn has come; answers or throws what the work does. */
export type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

/** Lets at most `limit` pieces of work run at a time; the others wait in order. */
export function createLimiter(limit: number): Limiter {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
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
