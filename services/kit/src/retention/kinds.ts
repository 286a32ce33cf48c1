/** A kind of data that is deleted some time after its end. */
export interface KeptKind<Id = unknown> {
  /** Names it in metrics, logs and the database. */
  readonly kind: string;
  /** How long it is kept after its end; milliseconds. */
  readonly keepMs: number;
  /** At most `most` that ended before `beforeMs` and owe nothing any more, by an index, oldest first. */
  find(beforeMs: number, most: number): Promise<readonly Id[]>;
  /**
   * Deletes those of them that still may be deleted; resolves with their number. Another instance may delete
   * the same ones at the same time.
   */
  remove(ids: readonly Id[], beforeMs: number): Promise<number>;
  /** When the oldest one that is kept ended; milliseconds since 1970. */
  oldestMs(): Promise<number | undefined>;
}
