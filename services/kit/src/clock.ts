/** Time as the domain sees it: passed in, never read from globals, so that tests decide it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

/** The machine's wall clock. */
export const systemClock: Clock = { now: () => Date.now() };
