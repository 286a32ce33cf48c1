import { parseNetworks, refuseThisMachine } from '@headset-cloud/outbound/address-rules.ts';
import { egressConfig } from '@headset-cloud/outbound/egress-config.ts';
import { address, type ConfigOf, integer, text } from '@headset-cloud/runtime/config.ts';

const MiB = 1024 * 1024;

/** Keys of the communication service. */
export const communicationConfig = {
  COMMUNICATION_LISTEN: address({
    doc: "Where Sora's event webhooks arrive (HTTP, POST /webhooks/sora/{endpointId}).",
    example: '0.0.0.0:8084',
    default: { host: '127.0.0.1', port: 8084 },
  }),
  COMMUNICATION_RESERVATION_MS: integer({
    doc: 'How long a new channel holds its place on an endpoint before its first connection; milliseconds.',
    example: '120000',
    default: 120_000,
    min: 100,
    max: 86_400_000,
  }),
  COMMUNICATION_CONNECTION_SILENT_MS: integer({
    doc: "Time without events after which a connection frees its place on the endpoint and is billed until its last event; milliseconds. Set it higher than Sora's connection_updated_webhook_interval.",
    example: '300000',
    default: 300_000,
    min: 100,
    max: 86_400_000,
  }),
  COMMUNICATION_KEEP_DAYS: integer({
    doc: "For how long channels, received events and ended recordings are kept, in days from a channel's last event.",
    example: '90',
    default: 90,
    min: 1,
    max: 3650,
  }),
  COMMUNICATION_WEBHOOK_MAX_BYTES: integer({
    doc: 'Largest body of a Sora webhook that is read; bytes. Event log messages have at most 2 MiB.',
    example: '1048576',
    default: MiB,
    min: 1024,
    max: MiB,
  }),
  COMMUNICATION_SWEEP_MS: integer({
    doc: 'How often the service looks for events that a crash left unpublished, and for recordings that are due; milliseconds.',
    example: '1000',
    default: 1000,
    min: 10,
    max: 60_000,
  }),
  COMMUNICATION_LEFTOVER_AFTER_MS: integer({
    doc: 'Age at which a stored event that is not published counts as left behind; milliseconds.',
    example: '5000',
    default: 5000,
    min: 10,
    max: 600_000,
    productionMin: 1000,
  }),
  COMMUNICATION_EVENT_CLAIM_MS: integer({
    doc: 'How long an instance’s claim on a stored event lasts before another instance tries; milliseconds.',
    example: '10000',
    default: 10_000,
    min: 10,
    max: 600_000,
    productionMin: 5000,
  }),
  COMMUNICATION_RECORDING_WAIT_MS: integer({
    doc: "How long a recording waits, since its last event, for archives that Sora's report names, or for the report itself; milliseconds.",
    example: '600000',
    default: 600_000,
    min: 10,
    max: 86_400_000,
  }),
  COMMUNICATION_RECORDINGS_AT_ONCE: integer({
    doc: 'Recordings that one instance uploads at a time, each with a few hundred KiB of memory; one application never has more than half of them (rounded up).',
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
    doc: 'How long the upload of one recording is retried after its last event before it fails, in hours.',
    example: '24',
    default: 24,
    min: 1,
    max: 720,
  }),
  COMMUNICATION_PART_BYTES: integer({
    doc: 'Size of a part of a multipart upload; S3 wants at least 5 MiB of all but the last. Bytes.',
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
    doc: 'Longest time without a byte of progress, or until the answer, of one upload or of reading an archive; milliseconds.',
    example: '60000',
    default: 60_000,
    min: 10,
    max: 3_600_000,
  }),
  COMMUNICATION_UPLOAD_MIN_RATE: integer({
    doc: 'Lowest rate of an upload; below it the attempt has failed. Bytes per second.',
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
    doc: 'How often new signed URLs are requested for one recording because a storage rejects them (expired).',
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
    productionCheck: refuseThisMachine,
    parse: (value: string): string => {
      parseNetworks(value);
      return value;
    },
  },
  ...egressConfig,
} as const;

export type CommunicationConfig = ConfigOf<typeof communicationConfig>;
