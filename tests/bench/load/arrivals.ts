/** The result of a run. */
export interface Throughput {
  readonly done: number;
  readonly seconds: number;
}

export function perSecond({ done, seconds }: Throughput): number {
  return done / seconds;
}

/**
 * Callers that each do one thing after the other until the time is over, and then finish the current one.
 * The first failure ends the run.
 */
export async function closedLoop(
  callers: number,
  seconds: number,
  work: (i: number) => Promise<unknown>,
): Promise<Throughput> {
  const began = performance.now();
  const until = began + seconds * 1000;
  let next = 0;
  let done = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < until) {
        await work(next++);
        done += 1;
      }
    }),
  );
  return { done, seconds: (performance.now() - began) / 1000 };
}

/**
 * Begins things at a fixed rate, whether or not earlier ones have ended (open loop). Returns the time of each
 * from the moment at which it was due, so that a stall counts for everything that waits behind it.
 * Milliseconds, in ascending order.
 */
export async function openLoop(
  perSecond: number,
  seconds: number,
  work: (i: number) => Promise<unknown>,
): Promise<number[]> {
  const began = performance.now();
  const count = Math.max(1, Math.round(perSecond * seconds));
  const times: number[] = [];
  const running: Promise<void>[] = [];
  for (let i = 0; i < count; i++) {
    const due = began + (i * 1000) / perSecond;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    running.push(
      work(i).then(() => {
        times.push(performance.now() - due);
      }),
    );
  }
  await Promise.all(running);
  return times.sort((a, b) => a - b);
}
