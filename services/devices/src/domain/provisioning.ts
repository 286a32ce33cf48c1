import { isLongerThan } from '@headset-cloud/runtime/characters.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { isDeviceId } from './device.ts';

/** Checks of operators' input. Each function throws `invalid_argument` with the field and the rule. */

function refuse(message: string): never {
  throw new DomainError('invalid_argument', message);
}

/** Checks an id; ids are used in API paths and as document ids. */
export function requireId(field: string, value: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(value)) return value;
  return refuse(
    `${field} ${JSON.stringify(value)} is not an id: 1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit.`,
  );
}

export function requireDeviceId(value: string): string {
  return isDeviceId(value) ? value : refuse(`device_id ${JSON.stringify(value)} is not an IMEI: 15 digits.`);
}

export function requireName(field: string, value: string): string {
  const name = value.trim();
  return name !== '' && !isLongerThan(name, 100)
    ? name
    : refuse(`${field} is not a text of 1 to 100 characters.`);
}

/** OIDC client ids: printable ASCII, each once. */
export function requireClientIds(values: readonly string[]): string[] {
  for (const value of values) {
    if (!/^[\x21-\x7e]{1,255}$/.test(value)) {
      refuse(`client_ids: ${JSON.stringify(value)} is not 1 to 255 printable ASCII characters.`);
    }
  }
  return [...new Set(values)];
}

/**
 * Maximum activation limit, far above the size of any fleet: a greater value is a typing error. No data grows with the
 * limit.
 */
export const maxSlots = 10_000_000;

export function requireActivationLimit(value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= maxSlots) return value;
  return refuse(`activation_limit ${value} is not a whole number from 0 to ${maxSlots}.`);
}

/** IMEIs to add and to remove: each valid, none in both. */
export function requireContractDevices(add: readonly string[], remove: readonly string[]): void {
  for (const deviceId of [...add, ...remove]) requireDeviceId(deviceId);
  const both = add.find((deviceId) => remove.includes(deviceId));
  if (both) refuse(`${both} is both added and removed.`);
}

/** Size of a page: the default if no size is requested. */
export function pageSize(asked: number): number {
  if (asked > 1000) refuse(`limit ${asked} is more than 1000.`);
  return asked || 100;
}
