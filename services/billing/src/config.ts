import { retentionConfig } from '@headset-cloud/rules/retention/config.ts';
import { type ConfigOf, decimal, text } from '@headset-cloud/runtime/config.ts';
import { parseZone } from './domain/month.ts';

/** Configuration of the billing service. */
export const billingConfig = {
  BILLING_TIME_ZONE: {
    ...text({
      doc: 'The time zone in which the months of bills begin and end: a fixed offset or an IANA name. Another time zone changes the bills of all months whose usage is kept.',
      example: 'Asia/Tokyo',
      default: 'UTC+9',
    }),
    parse: (value: string): string => {
      parseZone(value);
      return value;
    },
  },
  BILLING_KEEP_USAGE_DAYS: decimal({
    doc: 'For how long metered usage is kept after the end of its month, in days. Then the bill of the month is frozen, and late usage no longer changes it.',
    example: '400',
    default: 400,
    min: 0,
    max: 36_500,
    productionMin: 62,
  }),
  BILLING_KEEP_AUDIT_DAYS: decimal({
    doc: 'For how long audit records are kept, in days. The default covers a yearly audit that takes place up to a year later. It is longer than the retention of the data that the records explain (transactions, usage).',
    example: '800',
    default: 800,
    min: 0,
    max: 36_500,
    productionMin: 366,
  }),
  ...retentionConfig,
} as const;

export type BillingConfig = ConfigOf<typeof billingConfig>;
