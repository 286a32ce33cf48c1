import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** Retry-After of the error; milliseconds. Some transactions have to end first. */
const retryAfterMs = 5000;

/** Error of a create for a device with the maximum number of unprocessed transactions (ADR 0040). */
export function deviceFull(most: number): DomainError {
  return new DomainError(
    'too_many_requests',
    `Too many unprocessed transactions of this device: at most ${most}.`,
    { retryAfterMs, limit: { policy: 'device-unprocessed', quota: most } },
  );
}

/** Error of a create for an application with the maximum number of unprocessed transactions (ADR 0040). */
export function applicationFull(most: number): DomainError {
  return new DomainError(
    'too_many_requests',
    `Too many unprocessed transactions of this application: at most ${most}.`,
    { retryAfterMs, limit: { policy: 'application-unprocessed', quota: most } },
  );
}
