import { DomainError } from '@headset-cloud/runtime/errors.ts';

/**
 * Message that contains the minimum version (rule C14) and, if the application may read it, the reported version (rule
 * A7). transactions uses the same text when it checks the versions again before a start.
 */
function tooOldMessage(part: 'client' | 'firmware', version: string | undefined, minimum: string): string {
  const named = version === undefined ? '' : ` ${version}`;
  return `The device's ${part} version${named} is older than ${minimum}, which this operation needs.`;
}

/** Errors of this service, with the specification's messages (API 8) if there are any. */
export const refusals = {
  developerNotRegistered: () =>
    new DomainError('developer_not_registered', 'The developer is not registered.'),
  applicationForbidden: () => new DomainError('application_forbidden', 'The application is not registered.'),
  notActivated: () => new DomainError('device_not_activated', 'The device is not activated.'),
  activatedByOther: () =>
    new DomainError('device_activated_by_other', 'The device is activated by another application.'),
  activationLimit: () => new DomainError('activation_limit', 'not contracted or activation limit exceeded.'),
  clientIdInUse: () => new DomainError('client_id_in_use', 'ClientId is already in use.'),
  /** Another change of the device has a newer transaction id, so this id can no longer be used. */
  overtaken: () =>
    new DomainError(
      'conflict',
      'Another activation, deactivation or reset of the device came first. Try again.',
    ),
  tooOld: (part: 'client' | 'firmware', version: string | undefined, minimum: string) =>
    new DomainError('invalid_argument', tooOldMessage(part, version, minimum)),
  /**
   * `current`: the device's version; undefined if the application may not read it. An equal version is no downgrade
   * (rule A13).
   */
  firmwareDowngrade: (version: string, current: string | undefined) =>
    new DomainError(
      'invalid_argument',
      current === undefined
        ? `The firmware version ${version} is older than the one that the device has.`
        : `The firmware version ${version} is older than ${current}, which the device has.`,
    ),
  busy: () =>
    new DomainError('unavailable', 'The device is being activated by another call.', { retryAfterMs: 1000 }),
};
