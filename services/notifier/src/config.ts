import { type ConfigOf, decimal, integer, text } from '@headset-cloud/kit/config.ts';
import { parseNetworks } from '@headset-cloud/kit/outbound/address-rules.ts';
import { egressConfig } from '@headset-cloud/kit/outbound/egress-config.ts';

/** Every key of the notifier, with its default (rule C10, rule B10). */
export const notifierConfig = {
  NOTIFIER_ALLOW_ADDRESSES: {
    ...text({
      doc: 'Addresses that are not public, but to which callbacks may go all the same: networks, divided by commas.',
      example: '127.0.0.0/8,::1/128',
    }),
    parse: (value: string): string => {
      parseNetworks(value);
      return value;
    },
  },
  NOTIFIER_CONNECT_TIMEOUT_MS: integer({
    doc: 'Longest time to connect to a destination (name look-up, egress proxy and TLS included), in milliseconds.',
    example: '5000',
    default: 5000,
    min: 10,
    max: 60_000,
  }),
  NOTIFIER_TOTAL_TIMEOUT_MS: integer({
    doc: 'Longest time of one attempt, from connecting to the end of the answer, in milliseconds.',
    example: '15000',
    default: 15_000,
    min: 20,
    max: 120_000,
  }),
  NOTIFIER_MAX_AGE_HOURS: decimal({
    doc: 'How long a callback is tried before it is kept as dead, in hours from when the cloud took its event in.',
    example: '72',
    default: 72,
    min: 0.001,
    max: 24 * 30,
  }),
  NOTIFIER_GRACE_HOURS: decimal({
    doc: 'How much longer a callback is tried that had fewer than 10 attempts then, probes of its destination included, in hours.',
    example: '24',
    default: 24,
    min: 0.001,
    max: 24 * 30,
  }),
  NOTIFIER_BACKOFF_FIRST_MS: integer({
    doc: 'Upper bound of the pause after the first failed attempt, in milliseconds; it doubles with each.',
    example: '1000',
    default: 1000,
    min: 1,
    max: 60_000,
  }),
  NOTIFIER_BACKOFF_MAX_MS: integer({
    doc: "Upper bound of every pause of one callback, a destination's Retry-After included, in milliseconds.",
    example: '3600000',
    default: 3_600_000,
    min: 1,
    max: 24 * 3_600_000,
  }),
  NOTIFIER_PROBE_MAX_MS: integer({
    doc: 'Upper bound of the pause between two probes of a failing destination, in milliseconds.',
    example: '300000',
    default: 300_000,
    min: 1,
    max: 3_600_000,
  }),
  NOTIFIER_FAILING_AFTER: integer({
    doc: 'Failures in a row after which a destination is failing and gets one probe at a time.',
    example: '3',
    default: 3,
    min: 1,
    max: 1000,
  }),
  NOTIFIER_PER_DESTINATION_IN_FLIGHT: integer({
    doc: 'Most callbacks on their way to one destination (origin and application) at a time.',
    example: '16',
    default: 16,
    min: 1,
    max: 1000,
  }),
  NOTIFIER_ORDER_WAIT_MS: integer({
    doc: "How long a callback of a headset's report waits at most for the first attempts of the reports before it, in milliseconds; with its way to the notifier at most 60 s.",
    example: '50000',
    default: 50_000,
    min: 10,
    max: 60_000,
  }),
  NOTIFIER_SIGNED_URLS_PER_DESTINATION: integer({
    doc: 'Most requests for signed URLs on their way to one destination (origin and application) at a time; up to 16 times as many wait.',
    example: '8',
    default: 8,
    min: 1,
    max: 1000,
  }),
  NOTIFIER_WINDOW_PER_DESTINATION: integer({
    doc: 'Most callbacks of one application and setting held in memory; the rest waits in the database. A body over 8 KiB counts as one for each 8 KiB.',
    example: '1000',
    default: 1000,
    min: 1,
    max: 100_000,
  }),
  NOTIFIER_MAX_IN_MEMORY: integer({
    doc: 'Most callbacks held in memory in all; a body over 8 KiB counts as one for each 8 KiB.',
    example: '20000',
    default: 20_000,
    min: 1,
    max: 1_000_000,
  }),
  NOTIFIER_MAX_POOLS: integer({
    doc: 'Most origins to which connections are kept open; the one unused for longest is closed.',
    example: '500',
    default: 500,
    min: 1,
    max: 10_000,
  }),
  NOTIFIER_UNSET_RETRY_MS: integer({
    doc: 'How often a destination that is not set is looked up again, in milliseconds.',
    example: '15000',
    default: 15_000,
    min: 10,
    max: 3_600_000,
  }),
  NOTIFIER_LEASE_MS: integer({
    doc: 'For how long an instance owns a callback that it works on, renewed in time; after a crash another takes over when it has run out. Milliseconds.',
    example: '10000',
    default: 10_000,
    min: 200,
    max: 600_000,
    productionMin: 3000,
  }),
  NOTIFIER_SWEEP_MS: integer({
    doc: 'How often the database is searched for callbacks that are due and owned by no instance, in milliseconds.',
    example: '1000',
    default: 1000,
    min: 10,
    max: 60_000,
  }),
  NOTIFIER_KEEP_DELIVERED_DAYS: integer({
    doc: 'For how long a delivered callback is kept, in days. Keep it longer than the event log keeps events: its id keeps the callback from being sent again.',
    example: '14',
    default: 14,
    min: 1,
    max: 3650,
  }),
  NOTIFIER_KEEP_DEAD_DAYS: integer({
    doc: 'For how long a dead callback is kept so that it can be sent again, in days.',
    example: '90',
    default: 90,
    min: 1,
    max: 3650,
  }),
  ...egressConfig,
} as const;

export type NotifierConfig = ConfigOf<typeof notifierConfig>;
