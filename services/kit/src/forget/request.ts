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
  requireReference(reference);
}

/** The same for an application. */
export function requireForgetApplication({
  applicationId,
  reference,
}: {
  readonly applicationId: string;
  readonly reference: string;
}): void {
  // Also because records are found by what their ids begin with: never by an empty one.
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(applicationId))
    throw new DomainError('invalid_argument', 'application_id is not an id.');
  requireReference(reference);
}

/** Stands in the audit record, which has names and ids only. */
function requireReference(reference: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._:/#-]{0,63}$/.test(reference)) return;
  throw new DomainError(
    'invalid_argument',
    'reference: the id of the request, 1 to 64 letters, digits and . _ : / # -, not a text.',
  );
}

/** The record's subject, a device or an application: whose request it is stands in the operator's own files. */
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
