import { DomainError } from '../errors.ts';

/** Records in one call: few where a write blocks the process, more where it is a round trip. */
export const forgetAtOnce = { inProcess: 20, overNetwork: 200 } as const;

/** What each service's call to forget a device has to have. */
export function requireForgetRequest({
  deviceId,
  reference,
}: {
  readonly deviceId: string;
  readonly reference: string;
}): void {
  if (!/^\d{15}$/.test(deviceId))
    throw new DomainError('invalid_argument', 'device_id: an IMEI has 15 digits.');
  // Stands in the audit record, which has names and ids only.
  if (!/^[A-Za-z0-9][A-Za-z0-9._:/#-]{0,63}$/.test(reference)) {
    throw new DomainError(
      'invalid_argument',
      'reference: the id of the request, 1 to 64 letters, digits and . _ : / # -, not a text.',
    );
  }
}

/** The record's subject: whose request it is stands in the operator's own files. */
export function forgetSubject({
  deviceId,
  reference,
}: {
  readonly deviceId: string;
  readonly reference: string;
}) {
  return { deviceId, target: reference, fields: ['forgotten'] };
}
