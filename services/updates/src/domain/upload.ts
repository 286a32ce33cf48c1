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
  /** True: a later transfer has no effect any more; only stored files are still to be removed. */
  readonly settled: boolean;
  /** The artifact's withdrawals when it was opened (domain/artifact.ts); absent: none. */
  readonly withdrawals?: number;
  /** Tag of the file that was accepted: no other one is. Absent: none was, or release 0.1.0 accepted it. */
  readonly accepted?: string;
  /** The last file that was rejected; absent: none was. */
  readonly rejected?: RejectedFile;
}

/** A file that no check reads again. */
export interface RejectedFile {
  /** Tag of the stored object. */
  readonly tag: string;
  readonly reason: string;
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

/**
 * The time of the last check of an upload at which a later transfer has no effect any more. No right clock
 * signs a URL that lets it close later than that.
 */
export function lastLookMs(upload: Upload, nowMs: number, lifetimeMs: number): number {
  return Math.min(closesAtMs(upload, lifetimeMs), nowMs + 2 * lifetimeMs);
}

/**
 * How far ahead a claim may end, and the next check of an upload that waits for a file may lie. What lies
 * further ahead comes from a clock that was ahead, or from before a step back. It is several times what a
 * right clock writes, so that instances whose clocks differ a little leave each other's claims alone.
 */
export function farthestAheadMs(leaseMs: number): number {
  return 4 * Math.max(leaseMs, longestDelayMs);
}
