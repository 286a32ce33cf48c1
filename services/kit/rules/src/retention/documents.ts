/** Progress of the deletion of one kind of data: one document in the database of the data's service. */
export interface RetentionDocument {
  /** The kind. */
  _id: string;
  /** When the next run may begin, or when the holder of the running one counts as dead. */
  dueAtMs: number;
  /** Holder of the running run; absent: no run. */
  holder?: string;
  /** Everything that ended at this time or later is kept; absent: nothing was ever deleted. Never decreases. */
  completeFromMs?: number;
  /** End of the last run that found nothing more. */
  completedAtMs?: number;
}

export const retentionCollection = 'retention';
