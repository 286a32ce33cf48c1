import type { ConfigOf } from '@headset-cloud/kit/config.ts';

/** What can be set about the connectivity service. */
export const connectivityConfig = {} as const;

export type ConnectivityConfig = ConfigOf<typeof connectivityConfig>;
