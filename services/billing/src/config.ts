import type { ConfigOf } from '@headset-cloud/kit/config.ts';

/** What can be set about the billing service. */
export const billingConfigSpec = {} as const;

export type BillingConfig = ConfigOf<typeof billingConfigSpec>;
