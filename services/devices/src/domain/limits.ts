import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** Limits of one client of an application (ADR 0040). */
export interface Limits {
  readonly callsPerSecond: number;
  readonly callsBurst: number;
  readonly callsUnderWay: number;
  readonly deviceChangesPerSecond: number;
  /** Maximum unprocessed transactions of one device. */
  readonly deviceUnprocessed: number;
  /** Maximum unprocessed transactions of all devices of the application together. */
  readonly applicationUnprocessed: number;
}

export const limitNames = [
  'callsPerSecond',
  'callsBurst',
  'callsUnderWay',
  'deviceChangesPerSecond',
  'deviceUnprocessed',
  'applicationUnprocessed',
] as const satisfies readonly (keyof Limits)[];

/** Maximum of each limit, far above the capacity of the platform: a greater value is a typing error. */
const maxLimit = 10_000_000;

/** The limits that a contract sets. Throws `invalid_argument` for an invalid limit. */
export function requireLimits(given: Partial<Limits>): Partial<Limits> {
  const own: Record<string, number> = {};
  for (const name of limitNames) {
    const value = given[name];
    if (value === undefined) continue;
    if (!(value >= 1 && value <= maxLimit)) {
      throw new DomainError(
        'invalid_argument',
        `limits.${name} ${value} is not a whole number from 1 to ${maxLimit}.`,
      );
    }
    own[name] = value;
  }
  return own;
}

/** Limits of a contract, with the platform's defaults for limits that the contract does not set. */
export function effectiveLimits(own: Partial<Limits>, defaults: Limits): Limits {
  const merged = { ...defaults, ...own };
  // The default burst fits the default rate only. With the contract's rate, the burst is twice that rate.
  if (own.callsPerSecond !== undefined && own.callsBurst === undefined) {
    merged.callsBurst = own.callsPerSecond * 2;
  }
  return merged;
}
