import type { ConfigOf } from '@headset-cloud/runtime/config.ts';

/** Settings of the connectivity service, which has none of its own. */
export const connectivityConfig = {} as const;

export type ConnectivityConfig = ConfigOf<typeof connectivityConfig>;
