import { egressConfig } from '@headset-cloud/outbound/egress-config.ts';
import { address, type ConfigOf, integer, text } from '@headset-cloud/runtime/config.ts';

/** Keys of the updates service. */
export const updatesConfig = {
  S3_ENDPOINT: text({
    doc: 'Address of the S3-compatible object storage; not needed for AWS itself. Credentials: the AWS SDK’s usual variables.',
    example: 'https://s3.example.com',
    pattern: /^https?:\/\/[^/]+\/?$/i,
    form: 'an http or https address without a path',
  }),
  S3_PUBLIC_ENDPOINT: text({
    doc: 'Address of the same storage for integrators and headsets, used in presigned URLs, if it differs from S3_ENDPOINT.',
    example: 'https://files.example.com',
    pattern: /^https?:\/\/[^/]+\/?$/i,
    form: 'an http or https address without a path',
  }),
  S3_BUCKET: text({
    doc: 'Bucket of packages and firmware; it must exist. Without it, packages and firmware are kept on this machine’s disk, below DATA_DIR.',
    example: 'headset-artifacts',
    pattern: /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
    form: 'the name of a bucket',
  }),
  S3_REGION: text({ doc: 'Region of the bucket.', example: 'ap-northeast-1', default: 'us-east-1' }),
  DATA_DIR: text({
    doc: 'Folder of packages and firmware (below it, in artifacts) if S3_BUCKET is not set.',
    example: '.data',
    default: '.data',
  }),
  UPDATES_LISTEN: address({
    doc: 'Listen address for uploads and downloads; only used if S3_BUCKET is not set.',
    example: '0.0.0.0:8085',
    default: { host: '127.0.0.1', port: 8085 },
  }),
  UPDATES_PUBLIC_URL: text({
    doc: 'Address of UPDATES_LISTEN for integrators and headsets; default: http:// and UPDATES_LISTEN.',
    example: 'https://files.example.com',
    pattern: /^https?:\/\/[^/]+\/?$/i,
    form: 'an http or https address without a path',
  }),
  UPDATES_TEMP_DIR: text({
    doc: 'Folder in which uploads from S3 are checked; it needs UPDATES_MAX_BYTES of free space for each of UPDATES_CHECKS_AT_ONCE. Without free space a check is postponed. Default: the system’s.',
    example: '/tmp',
  }),
  UPDATES_CHECKS_AT_ONCE: integer({
    doc: 'How many uploaded files one instance checks at a time, each in a separate process (about 100 MiB); if the number is two or more, one developer gets at most one less.',
    example: '2',
    default: 2,
    min: 1,
    max: 32,
  }),
  UPDATES_CHECK_SECONDS: integer({
    doc: 'How long the check of one file may take; a file whose check takes longer is rejected. Seconds.',
    example: '300',
    default: 300,
    min: 1,
    max: 3600,
    productionMin: 30,
  }),
  UPDATES_STORAGE_WATCH_MS: integer({
    doc: 'How often the storage of packages and firmware is checked, for the log and headset_updates_storage_unavailable; milliseconds.',
    example: '15000',
    default: 15_000,
    min: 100,
    max: 600_000,
  }),
  UPDATES_VENDOR_PREFIX: text({
    doc: 'Prefix of package names that integrators may not upload.',
    example: 'com.vendor.',
    default: 'com.vendor.',
  }),
  UPDATES_MAX_BYTES: integer({
    doc: 'Largest package and firmware; bytes.',
    example: '1073741824',
    default: 1_073_741_824,
    min: 1,
    // S3's limit of one PUT, and of one copy.
    max: 5_368_709_120,
  }),
  UPDATES_UPLOAD_URL_SECONDS: integer({
    doc: 'How long an upload URL is valid; seconds.',
    example: '3600',
    default: 3600,
    min: 1,
    max: 86_400,
  }),
  UPDATES_DOWNLOAD_URL_SECONDS: integer({
    doc: 'How long a headset’s download URL is valid; the headset can request a new URL. Seconds.',
    example: '3600',
    default: 3600,
    min: 1,
    max: 86_400,
  }),
  UPDATES_SWEEP_INTERVAL_MS: integer({
    doc: 'How often the sweeper looks for uploads that are due for a check; milliseconds.',
    example: '1000',
    default: 1000,
    min: 10,
    max: 60_000,
  }),
  UPDATES_CHECK_LEASE_MS: integer({
    doc: 'How soon another instance takes over a check whose instance died; milliseconds.',
    example: '30000',
    default: 30_000,
    min: 100,
    max: 600_000,
    productionMin: 5000,
  }),
  ...egressConfig,
} as const;

export type UpdatesConfig = ConfigOf<typeof updatesConfig>;
