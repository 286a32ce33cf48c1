import type { ConfigOf } from '@headset-cloud/kit/config.ts';

/** What can be set about the updates service. */
export const updatesConfigSpec = {} as const;

export type UpdatesConfig = ConfigOf<typeof updatesConfigSpec>;
