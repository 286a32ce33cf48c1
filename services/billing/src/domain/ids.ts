import { DomainError } from '@headset-cloud/runtime/errors.ts';

/**
 * Checks of ids from events and operators. Each function throws `invalid_argument`; the message states the rule.
 */

/** Application ids are parts of document ids, so few characters are allowed. */
export function requireApplicationId(value: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(value)) return value;
  throw new DomainError(
    'invalid_argument',
    `application_id ${JSON.stringify(value)} is not an id: 1 to 64 letters, digits, '.', '_' or '-'.`,
  );
}

/** An IMEI. */
export function requireDeviceId(value: string): string {
  if (/^\d{15}$/.test(value)) return value;
  throw new DomainError('invalid_argument', `device_id ${JSON.stringify(value)} is not an IMEI: 15 digits.`);
}
