/** Progress of the deletion of one kind of records. Each kind has one document, in the database of its service. */
export interface RetentionDocument {
  /** The kind. */
  _id: string;
  /** When the next run may begin. During a run: when its holder counts as dead. */
  dueAtMs: number;
  /** Id of the instance that runs the deletion; absent: no run. */
  holder?: string;
  /** All records that ended at this time or later exist; absent: nothing was ever deleted. Never decreases. */
  completeFromMs?: number;
  /** End of the last run that found nothing more. */
  completedAtMs?: number;
}

export const retentionCollection = 'retention';
