import { callbackAddressesConfig } from '@headset-cloud/outbound/callback-addresses.ts';
import { retentionConfig } from '@headset-cloud/rules/retention/config.ts';
import { type ConfigOf, choice, decimal, integer } from '@headset-cloud/runtime/config.ts';
import { maxFileBytes } from './domain/upload.ts';

/** Keys of the devices service. */
export const devicesConfig = {
  ENDPOINT_SCHEMES: choice({
    doc: 'Schemes of the endpoints that an integrator may register: `any` (http and https), or `https` only. Registered endpoints stay valid.',
    example: 'https',
    default: 'any',
    words: ['any', 'https'],
  }),
  ...callbackAddressesConfig,
  LIMIT_CALLS_PER_SECOND: integer({
    doc: 'Calls of the API that one client may make to one application, over all gateways together; more calls get 429. A contract may set other limits (`ctl contracts put`). The same is true for the other LIMIT keys.',
    example: '500',
    default: 500,
    min: 1,
    max: 1_000_000,
  }),
  LIMIT_CALLS_BURST: integer({
    doc: 'Calls that may arrive at once after a pause; from then on LIMIT_CALLS_PER_SECOND applies.',
    example: '1000',
    default: 1000,
    min: 1,
    max: 1_000_000,
  }),
  LIMIT_CALLS_UNDER_WAY: integer({
    doc: 'Calls of one client to one application that may run at the same time, over all gateways together.',
    example: '500',
    default: 500,
    min: 1,
    max: 100_000,
  }),
  LIMIT_DEVICE_CHANGES_PER_SECOND: integer({
    doc: 'Changing calls that one client may make for one device; twice as many may arrive at once after a pause.',
    example: '50',
    default: 50,
    min: 1,
    max: 100_000,
  }),
  LIMIT_DEVICE_UNPROCESSED: integer({
    doc: 'Unprocessed transactions that a device may have; a call that would create one more gets 429.',
    example: '1000',
    default: 1000,
    min: 1,
    max: 1_000_000,
  }),
  LIMIT_APPLICATION_UNPROCESSED: integer({
    doc: 'Unprocessed transactions that all devices of one application may have together; a call that would create one more gets 429.',
    example: '1000000',
    default: 1_000_000,
    min: 1,
    max: 10_000_000,
  }),
  DEVICES_SWEEP_INTERVAL_MS: integer({
    doc: 'How often the sweeper looks for activations, deactivations and resets that a crash interrupted; milliseconds.',
    example: '1000',
    default: 1000,
    min: 10,
    max: 60_000,
  }),
  DEVICES_COMPLETE_AFTER_MS: integer({
    doc: 'How long an activation, deactivation or reset may take before the sweeper completes it; milliseconds.',
    example: '10000',
    default: 10_000,
    min: 10,
    max: 600_000,
    productionMin: 5000,
  }),
  FILE_UPLOAD_LIMIT_BYTES: integer({
    doc: 'Largest file that a headset may upload to the integrator; bytes.',
    example: '20971520',
    default: maxFileBytes,
    min: 1,
    max: maxFileBytes,
  }),
  DEVICES_KEEP_REPORTED_DAYS: decimal({
    doc: 'How long the data that a headset reported is kept after the deactivation of its device, in days; the location is deleted at once.',
    example: '30',
    default: 30,
    min: 0,
    max: 36_500,
  }),
  ...retentionConfig,
};

export type DevicesConfig = ConfigOf<typeof devicesConfig>;
