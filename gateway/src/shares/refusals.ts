import { DomainError, type ReachedLimit } from '@headset-cloud/runtime/errors.ts';

/** Retry time if another call has to end first; milliseconds. */
const underWayRetryMs = 1000;

function refused(message: string, limit: ReachedLimit, retryAfterMs: number): DomainError {
  return new DomainError('too_many_requests', message, { limit, retryAfterMs });
}

/** Errors for a client that has used up its share (ADR 0040). */
export const refusals = {
  calls: (perSecond: number, waitMs: number) =>
    refused(
      `Too many calls: at most ${perSecond} a second.`,
      { policy: 'calls', quota: perSecond, windowSeconds: 1 },
      waitMs,
    ),
  underWay: (limit: number) =>
    refused(
      `Too many calls at the same time: at most ${limit}.`,
      { policy: 'calls-under-way', quota: limit, concurrent: true },
      underWayRetryMs,
    ),
  lookups: (perSecond: number, waitMs: number) =>
    refused(
      `Too many rejected calls: at most ${perSecond} a second for applications that are not the client's.`,
      { policy: 'refused-calls', quota: perSecond, windowSeconds: 1 },
      waitMs,
    ),
  deviceChanges: (perSecond: number, waitMs: number) =>
    refused(
      `Too many changing calls for this device: at most ${perSecond} a second.`,
      { policy: 'device-changes', quota: perSecond, windowSeconds: 1 },
      waitMs,
    ),
};
