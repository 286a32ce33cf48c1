/** How far a kind of data has been deleted: one document in the database of the service that has it. */
export interface RetentionDocument {
  /** The kind. */
  _id: string;
  /** When the next run may begin, or when the holder of the one under way counts as dead. */
  dueAtMs: number;
  /** Who runs it; absent: nobody. */
  holder?: string;
  /** Everything that ended at this time or later is kept; absent: nothing was ever deleted. Never goes back. */
  completeFromMs?: number;
  /** End of the last run that found nothing more. */
  completedAtMs?: number;
}

export const retentionCollection = 'retention';
