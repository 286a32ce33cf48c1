import { type UploadRequest, UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { HeadsetFilesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError, isTransient } from '@headset-cloud/runtime/errors.ts';
import { notifiedApplication } from '../domain/association.ts';
import { readSignedUrl, readUploadPath } from '../domain/upload.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Deadline of the call to the notifier: the integrator's 15 s (rule C10), and time for the notifier; milliseconds. */
const deadlineMs = 20_000;
/** Maximum size of the integrator's answer, which contains only one URL; bytes. */
const maxAnswerBytes = 64 * 1024;

/**
 * For device-link: the URL to which a headset may upload a file (specification Callbacks 5 and 7). A rejection is a
 * regular answer. Throws `unavailable` while a part of the platform is unavailable.
 */
export function getUploadUrlHandler(
  deps: HandlerDependencies,
): Handlers<typeof HeadsetFilesService>['getUploadUrl'] {
  const count = (outcome: string) => deps.metrics.uploadUrls.inc({ outcome });
  return async ({ deviceId, upload }, { signal }) => {
    if (!upload) throw new DomainError('invalid_argument', 'The call names no file.');
    const refusal = await refusalOf(deps, deviceId, upload);
    if (refusal !== undefined) {
      count(refusalOutcomes[refusal]);
      return { refusal };
    }
    try {
      const url = await signedUrl(deps, deviceId, upload.file, signal);
      count(url === undefined ? 'no_signed_url' : 'given');
      return url === undefined ? { refusal: UrlRefusal.NO_SIGNED_URL } : { url };
    } catch (error) {
      count('unavailable');
      throw error;
    }
  };
}

/** Outcome in the metric, by refusal. */
const refusalOutcomes = {
  [UrlRefusal.NOT_ASSOCIATED]: 'not_associated',
  [UrlRefusal.SIZE]: 'size',
  [UrlRefusal.NO_SIGNED_URL]: 'no_signed_url',
} as const;

/**
 * Checks the request without the integrator. Returns the reason of a refusal; undefined if the integrator may be asked.
 */
async function refusalOf(
  deps: HandlerDependencies,
  deviceId: string,
  { file, sizeBytes, activationEpoch }: UploadRequest,
): Promise<keyof typeof refusalOutcomes | undefined> {
  const path = readUploadPath(file);
  const applicationId = notifiedApplication(
    await deps.reader.associations(deviceId),
    Number(activationEpoch),
  );
  if (!path || path.deviceId !== deviceId || path.applicationId !== applicationId) {
    return UrlRefusal.NOT_ASSOCIATED;
  }
  if (sizeBytes < 1n || sizeBytes > BigInt(deps.fileUploadLimitBytes)) return UrlRefusal.SIZE;
  const settings = await deps.applications.settings(applicationId);
  return settings?.fileUploadGetUrl && settings.fileUploadEvent ? undefined : UrlRefusal.NO_SIGNED_URL;
}

/** Requests the URL from the integrator once; undefined if it returned no URL. The path has been checked. */
async function signedUrl(
  deps: HandlerDependencies,
  deviceId: string,
  file: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const applicationId = readUploadPath(file)?.applicationId ?? '';
  try {
    const { body } = await deps.signedUrls.requestSignedUrls(
      {
        applicationId,
        setting: 'fileUploadGetUrl',
        body: Buffer.from(JSON.stringify({ deviceId, file })),
        maxAnswerBytes,
      },
      { deadlineMs, signal },
    );
    return readSignedUrl(body);
  } catch (error) {
    if (isIntegratorsFailure(error)) return undefined;
    if (!isTransient(error)) throw error;
    throw new DomainError('unavailable', 'The signed URL cannot be requested at the moment.', {
      cause: error,
      retryAfterMs: (error instanceof DomainError && error.retryAfterMs) || 1000,
    });
  }
}

/** True if the setting or key is missing, or the integrator's endpoint did not answer correctly. */
function isIntegratorsFailure(error: unknown): boolean {
  if (!(error instanceof DomainError)) return false;
  return error.code === 'destination_not_set' || error.code === 'integrator_failed';
}
