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
  BILLING_KEEP_AUDIT_DAYS: decimal({
    doc: 'For how long audit records are kept, in days. The default lets a yearly audit see its whole year when it takes place up to a year later, and is longer than what the records explain (transactions, usage) is kept.',
    example: '800',
    default: 800,
    min: 0,
    max: 36_500,
    productionMin: 366,
  }),
  ...retentionConfig,
} as const;

export type BillingConfig = ConfigOf<typeof billingConfig>;
