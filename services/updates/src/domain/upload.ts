/** One upload URL's life. */
export interface Upload {
  readonly id: string;
  readonly artifactId: string;
  /** Empty for firmware. */
  readonly developerId: string;
  /** As declared; the URL demands it. */
  readonly sizeBytes: number;
  /** When the newest URL for it expires; milliseconds since 1970. */
  readonly expiresAtMs: number;
  /** Times that nothing new was found. */
  readonly looks: number;
}

const firstDelayMs = 1000;
const longestDelayMs = 30_000;
const growth = 1.5;

/**
 * When to look at an upload again: soon at first, then less often; the last time when it is closed.
 * An upload that began before its URL expired may end later: it stays open for that long once more.
 */
export function nextLookMs(upload: Upload, nowMs: number, lifetimeMs: number): number {
  const delay = Math.min(longestDelayMs, firstDelayMs * growth ** Math.min(upload.looks, 20));
  const closes = closesAtMs(upload, lifetimeMs);
  return nowMs >= closes ? nowMs + longestDelayMs : Math.min(nowMs + delay, closes);
}

/** When nothing more is expected to arrive. */
export function closesAtMs(upload: Pick<Upload, 'expiresAtMs'>, lifetimeMs: number): number {
  return upload.expiresAtMs + lifetimeMs;
}
