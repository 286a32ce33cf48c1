import { parseNetworks, rejectThisMachine } from '@headset-cloud/outbound/address-rules.ts';
import { egressConfig } from '@headset-cloud/outbound/egress-config.ts';
import { address, type ConfigOf, integer, text } from '@headset-cloud/runtime/config.ts';

const MiB = 1024 * 1024;

/** Keys of the communication service. */
export const communicationConfig = {
  COMMUNICATION_LISTEN: address({
    doc: "Listen address for Sora's event webhooks (HTTP, POST /webhooks/sora/{endpointId}).",
    example: '0.0.0.0:8084',
    default: { host: '127.0.0.1', port: 8084 },
  }),
  COMMUNICATION_RESERVATION_MS: integer({
    doc: 'Duration of a new channel’s reservation on an endpoint, before its first connection; milliseconds.',
    example: '120000',
    default: 120_000,
    min: 100,
    max: 86_400_000,
  }),
  COMMUNICATION_CONNECTION_SILENT_MS: integer({
    doc: "Time without events after which a connection stops counting on its endpoint and is billed until its last event; milliseconds. Set it higher than Sora's connection_updated_webhook_interval.",
    example: '300000',
    default: 300_000,
    min: 100,
    max: 86_400_000,
  }),
  COMMUNICATION_KEEP_DAYS: integer({
    doc: "Retention period of channels, received events and ended recordings, in days from a channel's last event.",
    example: '90',
    default: 90,
    min: 1,
    max: 3650,
  }),
  COMMUNICATION_WEBHOOK_MAX_BYTES: integer({
    doc: 'Maximum body of a Sora webhook; bytes. Event log messages have at most 2 MiB.',
    example: '1048576',
    default: MiB,
    min: 1024,
    max: MiB,
  }),
  COMMUNICATION_SWEEP_MS: integer({
    doc: 'Interval of the search for events that a crash left unpublished, and for due recordings; milliseconds.',
    example: '1000',
    default: 1000,
    min: 10,
    max: 60_000,
  }),
  COMMUNICATION_LEFTOVER_AFTER_MS: integer({
    doc: 'Age at which the search publishes a stored event that is not published; milliseconds.',
    example: '5000',
    default: 5000,
    min: 10,
    max: 600_000,
    productionMin: 1000,
  }),
  COMMUNICATION_EVENT_CLAIM_MS: integer({
    doc: 'Duration of an instance’s claim on a stored event, after which another instance may claim it; milliseconds.',
    example: '10000',
    default: 10_000,
    min: 10,
    max: 600_000,
    productionMin: 5000,
  }),
  COMMUNICATION_RECORDING_WAIT_MS: integer({
    doc: "Maximum wait of a recording, since its last event, for archives that Sora's report names, or for the report itself; milliseconds.",
    example: '600000',
    default: 600_000,
    min: 10,
    max: 86_400_000,
  }),
  COMMUNICATION_RECORDINGS_AT_ONCE: integer({
    doc: 'Maximum number of recordings that one instance uploads at a time, each with a few hundred KiB of memory. One application uses at most half of them (rounded up).',
    example: '4',
    default: 4,
    min: 1,
    max: 100,
  }),
  COMMUNICATION_RECORDING_LEASE_MS: integer({
    doc: 'Duration of an instance’s claim on a recording. The instance renews it while it works; after a crash another instance takes over when the claim has expired. Milliseconds.',
    example: '30000',
    default: 30_000,
    min: 200,
    max: 600_000,
    productionMin: 5000,
  }),
  COMMUNICATION_RECORDING_MAX_AGE_HOURS: integer({
    doc: 'Time after its last event in which the upload of a recording is retried, in hours.',
    example: '24',
    default: 24,
    min: 1,
    max: 720,
  }),
  COMMUNICATION_PART_BYTES: integer({
    doc: 'Size of a part of a multipart upload; S3 requires at least 5 MiB for all parts except the last. Bytes.',
    example: '10485760',
    default: 10 * MiB,
    min: 5 * MiB,
    max: 1024 * MiB,
  }),
  COMMUNICATION_UPLOAD_ATTEMPTS: integer({
    doc: 'Attempts to send one part (or a file without parts) in a row before the recording pauses.',
    example: '5',
    default: 5,
    min: 1,
    max: 100,
  }),
  COMMUNICATION_UPLOAD_STALL_MS: integer({
    doc: 'Maximum time without progress, or without an answer, of an upload or of reading an archive; milliseconds.',
    example: '60000',
    default: 60_000,
    min: 10,
    max: 3_600_000,
  }),
  COMMUNICATION_UPLOAD_MIN_RATE: integer({
    doc: 'Minimum rate of an upload; a slower attempt fails. Bytes per second.',
    example: '65536',
    default: 65_536,
    min: 1,
    max: 1024 * MiB,
  }),
  COMMUNICATION_BACKOFF_FIRST_MS: integer({
    doc: 'Upper bound of the pause after the first failed attempt of an upload or a request for signed URLs; it doubles with each. Milliseconds.',
    example: '1000',
    default: 1000,
    min: 1,
    max: 60_000,
  }),
  COMMUNICATION_BACKOFF_MAX_MS: integer({
    doc: 'Upper bound of every such pause; milliseconds.',
    example: '60000',
    default: 60_000,
    min: 1,
    max: 3_600_000,
  }),
  COMMUNICATION_SIGNED_URL_ATTEMPTS: integer({
    doc: "Attempts in a row to get signed URLs from the integrator's server before the recording has failed.",
    example: '10',
    default: 10,
    min: 1,
    max: 100,
  }),
  COMMUNICATION_SIGNED_URL_RENEWALS: integer({
    doc: 'Maximum number of requests for new signed URLs of one recording, because a storage rejects expired ones.',
    example: '5',
    default: 5,
    min: 0,
    max: 1000,
  }),
  COMMUNICATION_ALLOW_ADDRESSES: {
    ...text({
      doc: 'Addresses that are not public, but to which recordings may be uploaded: networks, separated by commas. In production no network of the machine itself (127.0.0.0/8, ::1/128).',
      example: '10.20.0.0/16,fd00:20::/64',
    }),
    productionCheck: rejectThisMachine,
    parse: (value: string): string => {
      parseNetworks(value);
      return value;
    },
  },
  ...egressConfig,
} as const;

export type CommunicationConfig = ConfigOf<typeof communicationConfig>;
