import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** Limits of one client of an application (ADR 0040). */
export interface Limits {
  readonly callsPerSecond: number;
  readonly callsBurst: number;
  readonly callsUnderWay: number;
  readonly deviceChangesPerSecond: number;
  /** Maximum unprocessed transactions of one device, and of the application. */
  readonly deviceUnprocessed: number;
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

/** Far above the capacity of the platform. A greater limit is a typing error. */
const mostOfAny = 10_000_000;

/** The limits that a contract sets. Throws `invalid_argument` for an invalid limit. */
export function requireLimits(given: Partial<Limits>): Partial<Limits> {
  const own: Record<string, number> = {};
  for (const name of limitNames) {
    const value = given[name];
    if (value === undefined) continue;
    if (!(value >= 1 && value <= mostOfAny)) {
      throw new DomainError(
        'invalid_argument',
        `limits.${name} ${value} is not a whole number from 1 to ${mostOfAny}.`,
      );
    }
    own[name] = value;
  }
  return own;
}

/** Limits of a contract, with the platform's defaults for limits that the contract does not set. */
export function effectiveLimits(own: Partial<Limits>, defaults: Limits): Limits {
  const merged = { ...defaults, ...own };
  // A burst below the rate would be raised to the rate. The default burst fits the default rate only.
  if (own.callsPerSecond !== undefined && own.callsBurst === undefined) {
    merged.callsBurst = own.callsPerSecond * 2;
  }
  return merged;
}
