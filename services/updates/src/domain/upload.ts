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
  /** Number of checks that found nothing new. */
  readonly looks: number;
  /** True if a later transfer has no effect and only stored files must be removed. */
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
 * Time of an upload's next check: soon at first, then less often, and the last check when the upload is closed. A
 * transfer that began before the URL expired may end later. So the upload stays open for one more lifetime of the URL.
 */
export function nextLookMs(upload: Upload, nowMs: number, lifetimeMs: number): number {
  const delay = Math.min(longestDelayMs, firstDelayMs * growth ** Math.min(upload.looks, 20));
  const closes = closesAtMs(upload, lifetimeMs);
  return nowMs >= closes ? nowMs + longestDelayMs : Math.min(nowMs + delay, closes);
}

/** Time after which no more file is expected. */
export function closesAtMs(upload: Pick<Upload, 'expiresAtMs'>, lifetimeMs: number): number {
  return upload.expiresAtMs + lifetimeMs;
}

/**
 * Time of the last check of an upload in which a later transfer has no effect. A correct clock never signs a URL that
 * lets the upload close later.
 */
export function lastLookMs(upload: Upload, nowMs: number, lifetimeMs: number): number {
  return Math.min(closesAtMs(upload, lifetimeMs), nowMs + 2 * lifetimeMs);
}

/**
 * How far in the future a claim may end, and the next check of an upload that waits for a file may be. Later times come
 * from a fast clock, or from before a clock step back. The limit is several times the value that a correct clock
 * writes. So instances whose clocks differ a little respect each other's claims.
 */
export function farthestAheadMs(leaseMs: number): number {
  return 4 * Math.max(leaseMs, longestDelayMs);
}
