import { randomUUID } from 'node:crypto';
import { ConfigError } from '@headset-cloud/kit/config.ts';
import type { BillingConfig } from './config.ts';
import type { UsageStore } from './ports.ts';

/**
 * True when the crash test leaves out that a usage's id is known again, to show that it finds what is
 * billed twice. Throws in production.
 */
export function idempotenceOff(
  config: Pick<BillingConfig, 'BILLING_UNSAFE_SWITCHES'>,
  env: { NODE_ENV?: string | undefined },
): boolean {
  const off = config.BILLING_UNSAFE_SWITCHES !== undefined;
  if (off && env.NODE_ENV === 'production') {
    throw new ConfigError(
      'BILLING_UNSAFE_SWITCHES is set, but NODE_ENV is production: it bills usage twice. Unset it.',
    );
  }
  return off;
}

/** The store, as if each record of a usage were another usage. */
export function withoutIdempotence(usage: UsageStore): UsageStore {
  return {
    ...usage,
    record: (usages) => usage.record(usages.map((one) => ({ ...one, usageId: randomUUID() }))),
  };
}
