/** One upload URL's life. */
export interface Upload {
  readonly id: string;
  readonly artifactId: string;
  /** Empty for firmware. */
  readonly developerId: string;
  /** The declared size, which the URL demands. */
  readonly sizeBytes: number;
  /** When the newest URL for it expires; milliseconds since 1970. */
  readonly expiresAtMs: number;
  /** Number of checks that found nothing new. */
  readonly looks: number;
}

const firstDelayMs = 1000;
const longestDelayMs = 30_000;
const growth = 1.5;

/**
 * The time of an upload's next check: soon at first, then less often; the last one when it is closed. A
 * transfer that began before the URL expired may end later, so the upload stays open for one more lifetime
 * of the URL.
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
