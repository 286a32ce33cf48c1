import { isLongerThan } from '@headset-cloud/runtime/characters.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** The settings that hold a URL, by their JSON names (specification API 3; the last one: ADR 0055). */
export const endpointSettings = [
  'deviceEvent',
  'remoteSupportEvent',
  'soraEvent',
  'soraFileSendEvent',
  'soraRecGetPresignedUrl',
  'soraRecGetMultiPresignedUrl',
  'fileUploadEvent',
  'fileUploadGetUrl',
  'noticeEvent',
] as const;

export type EndpointSetting = (typeof endpointSettings)[number];

/** URLs of an application by the names of their settings. An absent setting is not set. */
export type Endpoints = Readonly<Partial<Record<EndpointSetting, string>>>;

/** The endpoints, and the authentication key; the key is absent if it was never issued. */
export type ApplicationSettings = Endpoints & { readonly authenticationKey?: string };

export function isEndpointSetting(name: string): name is EndpointSetting {
  return (endpointSettings as readonly string[]).includes(name);
}

/**
 * Throws `destination_not_set` if callbacks of transactions could not be sent: no deviceEvent is set, or no
 * authentication key was ever issued (rule C9).
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

/** Restrictions that an operator sets for the URLs of integrators' endpoints. */
export interface EndpointRules {
  /** True if http is not allowed. */
  readonly httpsOnly: boolean;
  /** False for a host to which callbacks are never sent. */
  mayReach(hostname: string): boolean;
}

/**
 * Throws `invalid_body` unless the text is an http(s) URL of at most 255 characters (specification API 5) that the
 * rules allow. Host names are not resolved here: their IP addresses are checked at each attempt (rule C10).
 */
export function requireEndpointUrl(name: EndpointSetting, value: string, rules: EndpointRules): void {
  const refuse = (reason: string) => new DomainError('invalid_body', `/${name} ${reason}`);
  const url = !isLongerThan(value, 255) && /^https?:\/\/[^\s\p{Cc}]+$/iu.test(value) && URL.parse(value);
  if (!url) throw refuse('must be an http or https URL of at most 255 characters.');
  if (rules.httpsOnly && url.protocol !== 'https:') {
    throw refuse('must be an https URL; no other is allowed here.');
  }
  if (!rules.mayReach(url.hostname)) {
    throw refuse('must be on a public address; nothing is sent to any other.');
  }
}
