/** State of one upload URL. */
export interface Upload {
  readonly id: string;
  readonly artifactId: string;
  /** Empty for firmware. */
  readonly developerId: string;
  /** The declared size, which the URL requires. */
  readonly sizeBytes: number;
  /** When the newest URL for it expires; milliseconds since 1970. */
  readonly expiresAtMs: number;
  /** Number of consecutive checks that found nothing new. */
  readonly looks: number;
  /** True if another file has no effect, so that only stored files must be removed. */
  readonly settled: boolean;
  /** The artifact's withdrawals when the upload was opened (domain/artifact.ts); absent: none. */
  readonly withdrawals?: number;
  /**
   * Tag of the accepted file; no other file of the upload is accepted. Absent: none yet, or release 0.1.0 accepted it.
   */
  readonly accepted?: string;
  /** The last rejected file; absent: none. */
  readonly rejected?: RejectedFile;
}

/** A file that is not checked again. */
export interface RejectedFile {
  /** Tag of the stored object. */
  readonly tag: string;
  readonly reason: string;
}

const firstDelayMs = 1000;
const longestDelayMs = 30_000;
const growth = 1.5;

/**
 * Time of an upload's next check: soon at first, then less often. The last check closes the upload.
 */
export function nextCheckMs(upload: Upload, nowMs: number, lifetimeMs: number): number {
  const delay = Math.min(longestDelayMs, firstDelayMs * growth ** Math.min(upload.looks, 20));
  const closes = closesAtMs(upload, lifetimeMs);
  return nowMs >= closes ? nowMs + longestDelayMs : Math.min(nowMs + delay, closes);
}

/**
 * Time at which an upload closes: one lifetime of the URL after the URL has expired. A transfer that began before the
 * expiry may end later.
 */
export function closesAtMs(upload: Pick<Upload, 'expiresAtMs'>, lifetimeMs: number): number {
  return upload.expiresAtMs + lifetimeMs;
}

/**
 * Time of the last check of a settled upload: when the upload closes. Limited to two lifetimes of a URL from now,
 * because only a wrong clock writes a later expiry.
 */
export function lastCheckMs(upload: Upload, nowMs: number, lifetimeMs: number): number {
  return Math.min(closesAtMs(upload, lifetimeMs), nowMs + 2 * lifetimeMs);
}

/**
 * Maximum time from now to the end of a claim, or to the next check of an upload that waits for a file. A later time
 * was written by a fast clock, or before a clock was set back, and is ignored. The limit is several times what a
 * correct clock writes, so that instances whose clocks differ a little respect each other's claims.
 */
export function maxAheadMs(leaseMs: number): number {
  return 4 * Math.max(leaseMs, longestDelayMs);
}
