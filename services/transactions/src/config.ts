import { retentionConfig } from '@headset-cloud/rules/retention/config.ts';
import { type ConfigOf, decimal, integer } from '@headset-cloud/runtime/config.ts';

/** Keys of the transactions service beside the common ones (process/common-config.ts). */
export const transactionsConfig = {
  TRANSACTIONS_RETRY_LIMIT: integer({
    doc: 'Largest number of re-deliveries of one transaction; the next one cancels it (rule B6).',
    example: '5',
    default: 5,
    min: 1,
    max: 1000,
  }),
  TRANSACTIONS_RETRY_INTERVAL_MS: integer({
    doc: 'Re-deliveries of one transaction within this time count once (rule B6); milliseconds.',
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
    doc: 'Transaction ids a process reserves at a time.',
    example: '1000',
    default: 1000,
    min: 1,
    max: 1_000_000,
  }),
  TRANSACTIONS_SWEEP_MS: integer({
    doc: 'How often the sweeper looks for work that a crash left unfinished; milliseconds.',
    example: '1000',
    default: 1000,
    min: 50,
    max: 60_000,
  }),
  TRANSACTIONS_LEFTOVER_AFTER_MS: integer({
    doc: 'Age at which an unpublished event or an undelivered new transaction counts as left over; milliseconds.',
    example: '5000',
    default: 5000,
    min: 100,
    max: 600_000,
    productionMin: 2000,
  }),
  TRANSACTIONS_KEEP_DAYS: decimal({
    doc: 'For how long a transaction is kept after its end, in days. Keep it longer than Idempotency-Keys (24 hours) and unsent callbacks (96 hours).',
    example: '400',
    default: 400,
    min: 0,
    max: 36_500,
    productionMin: 30,
  }),
  ...retentionConfig,
} as const;

export type TransactionsConfig = ConfigOf<typeof transactionsConfig>;
