import { type FileUpload, UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';
import type { DeviceNotification, ReportSubject } from './notification.ts';
import { maxFileBytes, maxPathBytes, readUploadPath } from './upload.ts';

const notAssociated = 'The device is not associated with the application.';
const noSignedUrl = 'The signed URL could not be obtained.';

/** Messages of the specification (Callbacks 3). */
const failures: ReadonlyMap<UrlRefusal, string> = new Map([
  [UrlRefusal.SIZE, 'The file size is over the limit.'],
  [UrlRefusal.NOT_ASSOCIATED, notAssociated],
  [UrlRefusal.NO_SIGNED_URL, noSignedUrl],
  // The headset stopped its retries while the platform was unavailable.
  [UrlRefusal.UNAVAILABLE, noSignedUrl],
  [UrlRefusal.NOT_FOUND, noSignedUrl],
]);
const uploadFailed = 'The upload to the signed URL failed.';
/** Message for an empty file: its size is not over the limit, but it cannot be uploaded (specification Callbacks 5). */
const empty = 'The signed URL could not be obtained because the file is empty.';

/**
 * The notification of a file's upload, for the application that has activated the device. The notification reports a
 * failure if the path contains another application, another device or no file name, or if the size is not allowed.
 */
export function uploadNotification(
  id: string,
  { file, failure, sizeBytes }: Pick<FileUpload, 'file' | 'failure' | 'sizeBytes'>,
  { applicationId, deviceId, atMs }: ReportSubject,
): DeviceNotification {
  const path = readUploadPath(file);
  const own = path?.applicationId === applicationId && path.deviceId === deviceId;
  const isAllowedSize = sizeBytes >= 1n && sizeBytes <= BigInt(maxFileBytes);
  // A file of that size cannot have been uploaded, whatever the headset reports.
  const refusal = failure === UrlRefusal.UNSPECIFIED && !isAllowedSize ? UrlRefusal.SIZE : failure;
  const succeeded = own && refusal === UrlRefusal.UNSPECIFIED;
  const failed =
    refusal === UrlRefusal.SIZE && sizeBytes < 1n ? empty : (failures.get(refusal) ?? uploadFailed);
  const reason = own ? failed : notAssociated;
  return {
    id,
    destination: 'fileUploadEvent',
    kind: 'file-upload',
    body: {
      applicationId,
      deviceId,
      timestamp: atMs,
      result: succeeded ? 'success' : 'failure',
      file: cut(file, maxPathBytes),
      message: succeeded ? 'upload success.' : reason,
    },
  };
}
