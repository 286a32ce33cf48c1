/** A kind of data that is deleted after its retention period. */
export interface KeptKind<Id = unknown> {
  /** Name in metrics, logs and the database. */
  readonly kind: string;
  /** Retention period after the record's end; milliseconds. */
  readonly keepMs: number;
  /**
   * Returns at most `limit` records that ended before `beforeMs` and have no pending work; uses an index, oldest first.
   */
  find(beforeMs: number, limit: number): Promise<readonly Id[]>;
  /**
   * Deletes the records that may still be deleted; resolves with their number. Another instance may delete
   * the same records at the same time.
   */
  remove(ids: readonly Id[], beforeMs: number): Promise<number>;
  /** When the oldest record ended; milliseconds since 1970. */
  oldestMs(): Promise<number | undefined>;
}
