import { isLongerThan } from '@headset-cloud/runtime/characters.ts';
import type { UploadFile } from './recording.ts';
import { isObject } from './sora-event.ts';

/** Signed URLs of one file: one URL, or an upload id and one URL for each part. */
export type FileUrls = string | { readonly uploadId: string; readonly parts: readonly string[] };
/** Signed URLs by file name. */
export type SignedUrls = Readonly<Record<string, FileUrls>>;

/** In practice S3's upload ids have at most 1024 bytes. Servers limit the length of URLs. */
const longestUploadId = 2048;
const longestUrl = 8192;

/**
 * Checks the integrator's answer (specification Callbacks 5 and 7): a URL for each file; for a file in parts an
 * uploadId and exactly `splitted` URLs, in the order of the parts. Returns the problem as a text for operators.
 */
export function readSignedUrls(
  answer: unknown,
  files: readonly UploadFile[],
): { urls: SignedUrls } | { problem: string } {
  if (!isObject(answer)) return { problem: 'the answer is not a JSON object' };
  const urls: Record<string, FileUrls> = {};
  for (const { file, splitted } of files) {
    const given = Object.hasOwn(answer, file) ? answer[file] : undefined;
    if (splitted === 0) {
      if (!isUrl(given)) return { problem: `${file} has no http or https address` };
      urls[file] = given;
      continue;
    }
    const { uploadId, parts } = isObject(given) ? given : {};
    if (typeof uploadId !== 'string' || uploadId === '' || isLongerThan(uploadId, longestUploadId)) {
      return { problem: `${file} has no uploadId` };
    }
    if (!Array.isArray(parts) || parts.length !== splitted) {
      return { problem: `${file} has not exactly ${splitted} parts` };
    }
    if (!parts.every(isUrl)) return { problem: `${file} has a part without http or https address` };
    urls[file] = { uploadId, parts };
  }
  return { urls };
}

function isUrl(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    !isLongerThan(value, longestUrl) &&
    /^https?:\/\/[^/\p{Cc}][^\p{Cc}]*$/iu.test(value) &&
    URL.canParse(value)
  );
}

/**
 * Applies newly issued URLs to the files. Finished files do not change. If the upload id of a file has changed, its
 * upload starts again, because sent parts are valid only for the old upload id.
 */
export function withIssuedUrls(files: readonly UploadFile[], urls: SignedUrls): UploadFile[] {
  return files.map((file) => {
    const issued = urls[file.file];
    if (file.done || typeof issued !== 'object' || issued.uploadId === file.uploadId) return file;
    return { ...file, uploadId: issued.uploadId, parts: [] };
  });
}
