import { DomainError } from '@headset-cloud/kit/errors.ts';

/** The settings that hold a URL, by their JSON names (specification API 3). */
export const addressSettings = [
  'deviceEvent',
  'remoteSupportEvent',
  'soraEvent',
  'soraFileSendEvent',
  'soraRecGetPresignedUrl',
  'soraRecGetMultiPresignedUrl',
  'fileUploadEvent',
  'fileUploadGetUrl',
] as const;

export type AddressSetting = (typeof addressSettings)[number];

/** Absent: not set. */
export type Addresses = Readonly<Partial<Record<AddressSetting, string>>>;

/** The addresses and, once one was issued, the authentication key. */
export type ApplicationSettings = Addresses & { readonly authenticationKey?: string };

export function isAddressSetting(name: string): name is AddressSetting {
  return (addressSettings as readonly string[]).includes(name);
}

/**
 * Throws `destination_not_set` while callbacks of transactions could not be sent: no deviceEvent, or
 * no authentication key was ever issued (rule C9).
 */
export function requireDestination(has: { deviceEvent: boolean; authenticationKey: boolean }): void {
  const missing = [
    !has.deviceEvent && 'deviceEvent is not set (PATCH /v1/applications/{applicationId})',
    !has.authenticationKey &&
      'no authenticationKey was issued (POST /v1/applications/{applicationId}/refresh_authkey)',
  ].filter(Boolean);
  if (missing.length > 0) {
    throw new DomainError(
      'destination_not_set',
      `The notification destination is not set: ${missing.join('; ')}.`,
    );
  }
}

/**
 * Throws `invalid_argument` unless the text is an http(s) address of at most 255 characters (specification API
 * 5); with `httpsOnly`, which an operator may set, an https address.
 */
export function requireAddress(name: AddressSetting, value: string, httpsOnly: boolean): void {
  if (value.length > 255 || !/^https?:\/\/[^\s\p{Cc}]+$/iu.test(value)) {
    throw new DomainError(
      'invalid_argument',
      `${name} is not an http or https address of at most 255 characters.`,
    );
  }
  if (httpsOnly && !/^https:/i.test(value)) {
    throw new DomainError('invalid_argument', `${name} is not an https address; no other is allowed here.`);
  }
}
