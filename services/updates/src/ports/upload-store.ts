import type { RejectedFile, Upload } from '../domain/upload.ts';

/** Open uploads: one document per upload. */
export interface UploadStore {
  /** Creates the upload, or extends it. Throws `unavailable` while it is being closed. */
  open(
    upload: Omit<Upload, 'looks' | 'settled' | 'accepted' | 'rejected'>,
    firstLookMs: number,
  ): Promise<void>;
  /** Undefined if the upload is unknown, or was closed long ago. */
  get(id: string): Promise<Upload | undefined>;
  remove(id: string): Promise<void>;
  /**
   * Begins to close the upload. Until `remove` nobody can open it again, so its file can be removed. False: the upload
   * was extended in the meantime. Repeatable.
   */
  close(id: string, expiresAtMs: number): Promise<boolean>;
  /** Ids of uploads for which a check may find something new. */
  unsettled(of: { artifactId: string } | { developerId: string }, limit: number): Promise<string[]>;
  due(nowMs: number, limit: number): Promise<string[]>;
  /** Number of uploads that are due for a check, and since when the oldest is due. */
  overdue(nowMs: number): Promise<{ count: number; oldestDueAtMs: number | undefined }>;
  /**
   * Makes uploads due now if their due time is later than these times, because a wrong clock wrote it. `settledMs` is
   * for uploads that only need to be closed.
   */
  recall(nowMs: number, latest: { unsettledMs: number; settledMs: number }): Promise<void>;
  /**
   * Claims the upload for a check. Undefined: another check has it, or it no longer exists. A claim that ends after
   * `latestMs` does not count, because a wrong clock wrote it.
   */
  claim(id: string, times: { nowMs: number; untilMs: number; latestMs: number }): Promise<Upload | undefined>;
  /** Renews a claim. */
  renew(id: string, untilMs: number): Promise<void>;
  /** Releases the claim and sets the time of the next check. Keeps the earlier rejection. */
  release(
    id: string,
    next: { atMs: number; looks: number; settled: boolean; accepted?: string; rejected?: RejectedFile },
  ): Promise<void>;
}
