import { type ConfigOf, choice, integer } from '@headset-cloud/kit/config.ts';
import { mostFileBytes } from './domain/upload.ts';

/** Keys of the devices service. */
export const devicesConfig = {
  DESTINATIONS: choice({
    doc: 'Which destinations an integrator may register: `any` (http and https), or `https` only. Destinations that are registered already go on.',
    example: 'https',
    default: 'any',
    words: ['any', 'https'],
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
  DEVICES_RECONCILE_INTERVAL_MS: integer({
    doc: "How often a contract's slots are recounted against the devices; milliseconds.",
    example: '600000',
    default: 600_000,
    min: 10,
    max: 86_400_000,
  }),
  DEVICES_SLOT_GRACE_MS: integer({
    doc: 'How long a take or return of a slot may be pending before the reconciler handles it; milliseconds.',
    example: '60000',
    default: 60_000,
    min: 10,
    max: 3_600_000,
    productionMin: 10000,
  }),
  FILE_UPLOAD_LIMIT_BYTES: integer({
    doc: 'Largest file that a headset may upload to the integrator; bytes.',
    example: '20971520',
    default: mostFileBytes,
    min: 1,
    max: mostFileBytes,
  }),
};

export type DevicesConfig = ConfigOf<typeof devicesConfig>;
