import type { RejectedFile, Upload } from '../domain/upload.ts';

/** Open uploads: one document per upload. */
export interface UploadStore {
  /** Creates the upload, or extends it. Throws `unavailable` while it is being closed. */
  open(
    upload: Omit<Upload, 'looks' | 'settled' | 'accepted' | 'rejected'>,
    firstCheckMs: number,
  ): Promise<void>;
  /** Undefined if the upload is unknown, or was closed long ago. */
  get(id: string): Promise<Upload | undefined>;
  remove(id: string): Promise<void>;
  /**
   * Begins to close the upload. Until `remove` the upload cannot be opened again, so its file can be removed. Returns
   * false if the upload was extended in the meantime. Repeatable.
   */
  close(id: string, expiresAtMs: number): Promise<boolean>;
  /** Ids of uploads for which a check may find something new. */
  unsettled(of: { artifactId: string } | { developerId: string }, limit: number): Promise<string[]>;
  /** Ids of uploads that are due for a check, longest due first. */
  due(nowMs: number, limit: number): Promise<string[]>;
  /** Number of uploads that are due for a check, and since when the oldest is due. */
  overdue(nowMs: number): Promise<{ count: number; oldestDueAtMs: number | undefined }>;
  /**
   * Makes uploads due now whose due time is too far in the future: a wrong clock wrote it. `latest` contains the latest
   * plausible due times, of unsettled and of settled uploads.
   */
  resetFutureDueTimes(nowMs: number, latest: { unsettledMs: number; settledMs: number }): Promise<void>;
  /**
   * Claims the upload for a check. Returns undefined if another check has claimed it, or if it no longer exists. A
   * claim that ends after `latestMs` is ignored, because a wrong clock wrote it.
   */
  claim(id: string, times: { nowMs: number; untilMs: number; latestMs: number }): Promise<Upload | undefined>;
  /** Extends a claim. */
  renew(id: string, untilMs: number): Promise<void>;
  /**
   * Releases the claim and stores the result and the time of the next check. Absent fields keep their stored values.
   */
  release(
    id: string,
    next: { atMs: number; looks: number; settled: boolean; accepted?: string; rejected?: RejectedFile },
  ): Promise<void>;
}
