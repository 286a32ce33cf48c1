import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** When a call may come again; some of the transactions have to end first. Milliseconds. */
const retryAfterMs = 5000;

/** The refusal of a device that has as many unprocessed transactions as it may have (ADR 0040). */
export function deviceFull(most: number): DomainError {
  return new DomainError(
    'too_many_requests',
    `Too many unprocessed transactions of this device: at most ${most}.`,
    { retryAfterMs, limit: { policy: 'device-unprocessed', quota: most } },
  );
}

/** The same of an application. */
export function applicationFull(most: number): DomainError {
  return new DomainError(
    'too_many_requests',
    `Too many unprocessed transactions of this application: at most ${most}.`,
    { retryAfterMs, limit: { policy: 'application-unprocessed', quota: most } },
  );
}
