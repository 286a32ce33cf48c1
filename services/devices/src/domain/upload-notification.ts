import { type FileUpload, UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DeviceNotification, ReportSubject } from './notification.ts';
import { clip } from './text.ts';
import { mostFileBytes, mostPathBytes, readUploadPath } from './upload.ts';

const notAssociated = 'The device is not associated with the application.';
const noSignedUrl = 'The signed URL could not be obtained.';

/** The reasons of the specification (Callbacks 3). */
const failures: ReadonlyMap<UrlRefusal, string> = new Map([
  [UrlRefusal.SIZE, 'The file size is over the limit.'],
  [UrlRefusal.NOT_ASSOCIATED, notAssociated],
  [UrlRefusal.NO_SIGNED_URL, noSignedUrl],
  // A headset that gave up asking while a part of the platform was away.
  [UrlRefusal.UNAVAILABLE, noSignedUrl],
  [UrlRefusal.NOT_FOUND, noSignedUrl],
]);
const uploadFailed = 'The upload to the signed URL failed.';
/** No address is asked for an empty file, which is not over the limit (specification Callbacks 5). */
const empty = 'The signed URL could not be obtained because the file is empty.';

/**
 * The notification of a file's upload, for the application that has the device activated. A path that
 * names another application, another device or no file is told to it as a failure, and so is an upload of
 * a size that no upload may have; the other application hears nothing.
 */
export function uploadNotification(
  id: string,
  { file, failure, sizeBytes }: Pick<FileUpload, 'file' | 'failure' | 'sizeBytes'>,
  { applicationId, deviceId, atMs }: ReportSubject,
): DeviceNotification {
  const path = readUploadPath(file);
  const own = path?.applicationId === applicationId && path.deviceId === deviceId;
  const permitted = sizeBytes >= 1n && sizeBytes <= BigInt(mostFileBytes);
  // No such file can have been uploaded, whatever the headset says.
  const refusal = failure === UrlRefusal.UNSPECIFIED && !permitted ? UrlRefusal.SIZE : failure;
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
      file: clip(file, mostPathBytes),
      message: succeeded ? 'upload success.' : reason,
    },
  };
}
