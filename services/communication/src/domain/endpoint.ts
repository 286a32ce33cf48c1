import { isLongerThan } from '@headset-cloud/runtime/characters.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** Checks of operators' input about endpoints; each function throws `invalid_argument` with the rule. */

function refuse(message: string): never {
  throw new DomainError('invalid_argument', message);
}

/** Checks an endpoint id, which is part of the webhook's path. */
export function requireEndpointId(value: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(value)) return value;
  return refuse(
    `endpoint_id ${JSON.stringify(value)} is not an id: 1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit.`,
  );
}

export function requireSoraVersion(value: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9.-]{0,31}$/.test(value)) return value;
  return refuse(`sora_version ${JSON.stringify(value)} is not 1 to 32 letters, digits, '.' or '-'.`);
}

export function requireSignalingUrl(value: string): string {
  if (/^wss?:\/\/[^/\s]/i.test(value) && !isLongerThan(value, 255) && URL.canParse(value)) return value;
  return refuse(
    `signaling_url ${JSON.stringify(value)} is not a ws or wss address of at most 255 characters.`,
  );
}

/** Empty: the endpoint stores no recordings. */
export function requireArchiveUrl(value: string): string {
  if (value === '') return '';
  if (/^https?:\/\/[^/\s]/i.test(value) && !isLongerThan(value, 255) && URL.canParse(value)) return value;
  return refuse(
    `archive_url ${JSON.stringify(value)} is not an http or https address of at most 255 characters.`,
  );
}

/** Places are stored in the endpoint's document, about 80 bytes each. A MongoDB document has at most 16 MB. */
export const maxPlaces = 50_000;

export function requireConnectionLimit(value: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= maxPlaces) return value;
  return refuse(`connection_limit ${value} is not a whole number from 1 to ${maxPlaces}.`);
}

/** The secret is stored as a hash. The minimum length protects against guessing it from the hash. */
export function requireWebhookSecret(value: string): string {
  if (/^[\x21-\x7e]{16,256}$/.test(value)) return value;
  return refuse('webhook_secret is not 16 to 256 printable ASCII characters without spaces.');
}
