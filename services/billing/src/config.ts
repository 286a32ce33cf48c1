import { type ConfigOf, text } from '@headset-cloud/kit/config.ts';
import { parseZone } from './domain/month.ts';

/** What can be set about the billing service. */
export const billingConfig = {
  BILLING_TIME_ZONE: {
    ...text({
      doc: 'The time zone in which the months of bills begin and end: a fixed offset or an IANA name. Another one changes the bills of all months.',
      example: 'Asia/Tokyo',
      default: 'UTC+9',
    }),
    parse: (value: string): string => {
      parseZone(value);
      return value;
    },
  },
} as const;

export type BillingConfig = ConfigOf<typeof billingConfig>;
