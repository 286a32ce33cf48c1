import { retentionConfig } from '@headset-cloud/rules/retention/config.ts';
import { type ConfigOf, decimal, integer } from '@headset-cloud/runtime/config.ts';

/** Settings of the transactions service, in addition to the common settings (process/common-config.ts). */
export const transactionsConfig = {
  TRANSACTIONS_RETRY_LIMIT: integer({
    doc: 'Maximum number of retries of one transaction; the next retry cancels it (rule B6).',
    example: '5',
    default: 5,
    min: 1,
    max: 1000,
  }),
  TRANSACTIONS_RETRY_INTERVAL_MS: integer({
    doc: 'Retries of one transaction within this time count once (rule B6); milliseconds.',
    example: '60000',
    default: 60_000,
    min: 0,
    max: 3_600_000,
  }),
  TRANSACTIONS_PROGRESS_INTERVAL_MS: integer({
    doc: "Time between two callbacks of one update's progress (rule A9); milliseconds.",
    example: '10000',
    default: 10_000,
    min: 0,
    max: 600_000,
  }),
  TRANSACTIONS_ID_BLOCK: integer({
    doc: 'Number of transaction ids that a process reserves at a time.',
    example: '1000',
    default: 1000,
    min: 1,
    max: 1_000_000,
  }),
  TRANSACTIONS_SWEEP_MS: integer({
    doc: 'Interval at which the sweeper looks for unfinished work of a crash; milliseconds.',
    example: '1000',
    default: 1000,
    min: 50,
    max: 60_000,
  }),
  TRANSACTIONS_LEFTOVER_AFTER_MS: integer({
    doc: 'Age from which the sweeper publishes a pending event or dispatches a new transaction; milliseconds.',
    example: '5000',
    default: 5000,
    min: 100,
    max: 600_000,
    productionMin: 2000,
  }),
  TRANSACTIONS_KEEP_DAYS: decimal({
    doc: 'Retention period of a transaction after its end, in days. Must be longer than that of Idempotency-Keys (24 hours) and unsent callbacks (96 hours).',
    example: '400',
    default: 400,
    min: 0,
    max: 36_500,
    productionMin: 30,
  }),
  ...retentionConfig,
} as const;

export type TransactionsConfig = ConfigOf<typeof transactionsConfig>;
