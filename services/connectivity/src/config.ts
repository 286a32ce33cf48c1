import type { ConfigOf } from '@headset-cloud/kit/config.ts';

/** What can be set about the connectivity service. */
export const connectivityConfigSpec = {} as const;

export type ConnectivityConfig = ConfigOf<typeof connectivityConfigSpec>;
