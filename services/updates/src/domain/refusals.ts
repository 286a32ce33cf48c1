import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Artifact } from './artifact.ts';
import { invalidBody } from './names.ts';

const refuseVersion = (reason: string) => invalidBody('/version', reason);

/** Reason for the rejection of a developer's file after its upload. */
export const otherDeveloperReason = (name: string) => `The package ${name} is used by another developer.`;

/** Rejection reason of a version that its developer has withdrawn. */
export const withdrawnReason = 'Its developer has withdrawn it.';

/** Errors of this service; each names the parameter and the broken rule (rule A4). */
export const refusals = {
  otherDeveloper: (name: string) => invalidBody('/package', `${name} is used by another developer.`),
  withdrawn: (name: string, version: string) =>
    refuseVersion(`${version} of ${name} was withdrawn. Upload another version.`),
  /** A package belongs to one developer, so uploads of other developers never cause this error. */
  tooManyUploads: (most: number, retryAfterMs: number) =>
    new DomainError('too_many_requests', `Too many uploads of this version are open: at most ${most}.`, {
      retryAfterMs,
      limit: { policy: 'open-uploads', quota: most },
    }),
  tooManyOfDeveloper: (most: number, retryAfterMs: number) =>
    new DomainError('too_many_requests', `Too many uploads of this developer are open: at most ${most}.`, {
      retryAfterMs,
      limit: { policy: 'developer-uploads', quota: most },
    }),
  closing: () => new DomainError('unavailable', 'The upload is being closed.', { retryAfterMs: 1000 }),
  limit: (max: number) => new DomainError('invalid_argument', `limit must be from 1 to ${max}.`),

  /** Reports to the developer why its own version cannot be installed. */
  notDeliverable: (name: string, version: string, artifact: Artifact | undefined) => {
    switch (artifact?.state) {
      case 'rejected':
        return refuseVersion(`${version} of ${name} cannot be delivered: ${artifact.reason}`);
      case 'uploading':
        return refuseVersion(
          `${version} of ${name} cannot be delivered: its upload is not complete.${
            artifact.reason && ` The upload before: ${artifact.reason}`
          }`,
        );
      case 'withdrawn':
        return refuseVersion(`${version} of ${name} was withdrawn.`);
      default:
        return refuseVersion(`${version} of ${name} is not in the catalogue.`);
    }
  },
  notWithdrawable: {
    unknown: (name: string, version: string) =>
      new DomainError('not_found', `${version} of ${name} is not in the catalogue.`),
    named: (name: string, version: string) =>
      new DomainError(
        'conflict',
        `${version} of ${name} cannot be withdrawn: an update may have been sent with it.`,
      ),
    byOperator: (name: string, version: string) =>
      new DomainError('conflict', `${version} of ${name} was withdrawn by an operator.`),
  },
  firmwareNotDeliverable: (version: string) =>
    refuseVersion(`${version} of the firmware is not in the catalogue.`),
};
