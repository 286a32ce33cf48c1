import { type ConfigOf, integer } from '../config.ts';

/** Keys of the services that delete what has had its time (ADR 0045). */
export const retentionConfig = {
  RETENTION_PER_SECOND: integer({
    doc: 'Records of one kind that are deleted in a second at most. Deleting also pauses four times as long as it worked, so that calls go first.',
    example: '500',
    default: 500,
    min: 1,
    max: 100_000,
  }),
  RETENTION_INTERVAL_MS: integer({
    doc: 'Time from the end of a run that deletes what has had its time to the next one of the same kind, on whichever instance; milliseconds.',
    example: '3600000',
    default: 3_600_000,
    min: 50,
    max: 86_400_000,
    productionMin: 60_000,
  }),
} as const;

export type RetentionConfig = ConfigOf<typeof retentionConfig>;

export const dayMs = 86_400_000;
