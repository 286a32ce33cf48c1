import type { ConfigOf } from '@headset-cloud/runtime/config.ts';

/** Keys of the connectivity service: none. */
export const connectivityConfig = {} as const;

export type ConnectivityConfig = ConfigOf<typeof connectivityConfig>;
