import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** Records per call: few if a write blocks the process (embedded store), more if it is a network round trip. */
export const forgetAtOnce = { inProcess: 20, overNetwork: 200 } as const;

/** Validates a service's call to forget a device. */
export function requireForgetRequest({
  deviceId,
  reference,
}: {
  readonly deviceId: string;
  readonly reference: string;
}): void {
  if (!/^\d{15}$/.test(deviceId))
    throw new DomainError('invalid_argument', 'device_id: an IMEI has 15 digits.');
  requireReference(reference);
}

/** Validates a service's call to forget an application. */
export function requireForgetApplication({
  applicationId,
  reference,
}: {
  readonly applicationId: string;
  readonly reference: string;
}): void {
  // Records are found by the prefix of their id, so an empty id would match the records of all applications.
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(applicationId))
    throw new DomainError('invalid_argument', 'application_id is not an id.');
  requireReference(reference);
}

/** Validates the reference. It is stored in the audit record, which contains only names and ids. */
function requireReference(reference: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._:/#-]{0,63}$/.test(reference)) return;
  throw new DomainError(
    'invalid_argument',
    'reference: the id of the request, 1 to 64 letters, digits and . _ : / # -, not a text.',
  );
}

/** Subject of the audit record: the device or application. It contains no person; only the operator's own files do. */
export function forgetSubject(
  request: { readonly reference: string } & (
    | { readonly deviceId: string }
    | { readonly applicationId: string }
  ),
) {
  const of =
    'deviceId' in request ? { deviceId: request.deviceId } : { applicationId: request.applicationId };
  return { ...of, target: request.reference, fields: ['forgotten'] };
}
