import type { ConfigOf } from '@headset-cloud/kit/config.ts';

/** What can be set about the communication service. */
export const communicationConfigSpec = {} as const;

export type CommunicationConfig = ConfigOf<typeof communicationConfigSpec>;
