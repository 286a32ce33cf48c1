/** Bounds of a wait that doubles; milliseconds. */
export interface BackoffBounds {
  /** Longest wait after the first failure. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Returns the longest wait after this number of failures: firstMs × 2^(failures − 1), at most maxMs; milliseconds. */
export function longestBackoffMs(failures: number, { firstMs, maxMs }: BackoffBounds): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(Math.max(failures, 1) - 1, 40));
}

/**
 * Exponential backoff with full jitter. Returns a random wait between 0 and `longestBackoffMs`, so that the clients of
 * a recovered service do not all call at the same time. `random` is in [0, 1).
 */
export function backoffMs(failures: number, bounds: BackoffBounds, random = Math.random()): number {
  return Math.round(random * longestBackoffMs(failures, bounds));
}
