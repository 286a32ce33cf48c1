import { ConfigError, type ConfigOf, integer, text } from '@headset-cloud/kit/config.ts';

/** Keys of the transactions service beside the common ones (kit/src/common-config.ts). */
export const transactionsConfig = {
  TRANSACTIONS_RETRY_LIMIT: integer({
    doc: 'Re-deliveries of one transaction; the next one cancels it (ruling B6).',
    example: '5',
    default: 5,
    min: 1,
    max: 1000,
  }),
  TRANSACTIONS_RETRY_INTERVAL_MS: integer({
    doc: 'Re-deliveries of one transaction within this time count once (ruling B6); milliseconds.',
    example: '60000',
    default: 60_000,
    min: 0,
    max: 3_600_000,
  }),
  TRANSACTIONS_PROGRESS_INTERVAL_MS: integer({
    doc: "Time between two callbacks of one update's progress (ruling A9); milliseconds.",
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
    doc: 'How often the sweeper looks for what a crash left unfinished; milliseconds.',
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
  TRANSACTIONS_UNSAFE_SWITCHES: text({
    doc: 'Test only, refused in production: safeguards to leave out, so that the crash test can show that it misses them (no-sweeper, no-start-permit).',
    example: 'no-sweeper',
    pattern: /^(no-sweeper|no-start-permit)(,(no-sweeper|no-start-permit))*$/,
    form: 'a list of no-sweeper and no-start-permit',
  }),
} as const;

/** Safeguards that the crash test leaves out to show that it can fail. */
export interface UnsafeSwitches {
  readonly sweeperOff: boolean;
  readonly startPermitOff: boolean;
}

/** Reads TRANSACTIONS_UNSAFE_SWITCHES; throws in production. */
export function unsafeSwitches(
  config: Pick<TransactionsConfig, 'TRANSACTIONS_UNSAFE_SWITCHES'>,
  env: { NODE_ENV?: string | undefined },
): UnsafeSwitches {
  const words = config.TRANSACTIONS_UNSAFE_SWITCHES?.split(',') ?? [];
  if (words.length > 0 && env.NODE_ENV === 'production') {
    throw new ConfigError(
      'TRANSACTIONS_UNSAFE_SWITCHES is set, but NODE_ENV is production: it loses operations. Unset it.',
    );
  }
  return { sweeperOff: words.includes('no-sweeper'), startPermitOff: words.includes('no-start-permit') };
}

export type TransactionsConfig = ConfigOf<typeof transactionsConfig>;
