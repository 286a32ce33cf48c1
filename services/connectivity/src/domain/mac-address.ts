import { DomainError } from '@headset-cloud/runtime/errors.ts';

/**
 * Returns a MAC address of the form AA:BB:CC:DD:EE:FF in upper case; accepts lower case. Throws `invalid_body` with the
 * JSON pointer and the required form (rule A4).
 */
export function requireMacAddress(given: string): string {
  if (/^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$/.test(given)) return given.toUpperCase();
  throw new DomainError('invalid_body', '/macAddress must be of the form AA:BB:CC:DD:EE:FF.');
}
