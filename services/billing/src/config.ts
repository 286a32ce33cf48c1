import { type ConfigOf, decimal, text } from '@headset-cloud/kit/config.ts';
import { retentionConfig } from '@headset-cloud/kit/retention/config.ts';
import { parseZone } from './domain/month.ts';

/** What can be set about the billing service. */
export const billingConfig = {
  BILLING_TIME_ZONE: {
    ...text({
      doc: 'The time zone in which the months of bills begin and end: a fixed offset or an IANA name. Another one changes the bills of all months whose usage is kept.',
      example: 'Asia/Tokyo',
      default: 'UTC+9',
    }),
    parse: (value: string): string => {
      parseZone(value);
      return value;
    },
  },
  BILLING_KEEP_USAGE_DAYS: decimal({
    doc: 'For how long metered usage is kept after the end of its month, in days. Then the bill of the month is frozen, and late usage changes it no more.',
    example: '400',
    default: 400,
    min: 0,
    max: 36_500,
    productionMin: 62,
  }),
  ...retentionConfig,
} as const;

export type BillingConfig = ConfigOf<typeof billingConfig>;
