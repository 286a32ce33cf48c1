import { type ConfigOf, integer } from '@headset-cloud/runtime/config.ts';

/** Configuration keys of the services that delete expired records (ADR 0045). */
export const retentionConfig = {
  RETENTION_PER_SECOND: integer({
    doc: 'Maximum number of records of one kind that are deleted per second. Deletion also uses at most 20 % of the time, so that calls have priority.',
    example: '500',
    default: 500,
    min: 1,
    max: 100_000,
  }),
  RETENTION_INTERVAL_MS: integer({
    doc: 'Time from the end of a run that deletes expired records to the next run for the same kind, on any instance; milliseconds.',
    example: '3600000',
    default: 3_600_000,
    min: 50,
    max: 86_400_000,
    productionMin: 60_000,
  }),
} as const;

export type RetentionConfig = ConfigOf<typeof retentionConfig>;

export const dayMs = 86_400_000;
