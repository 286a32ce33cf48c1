import { isLongerThan } from '@headset-cloud/runtime/characters.ts';

/** The application and device that a path names (specification Callbacks 3, file upload notification). */
export interface UploadPath {
  readonly applicationId: string;
  readonly deviceId: string;
}

/** Maximum bytes of a path, in UTF-8: the longest key that S3 accepts. */
export const maxPathBytes = 1024;

/**
 * Reads `{applicationId}/{deviceId}/upload_files/{any path and file name}`. Undefined for any other form, and for parts
 * that could lead to another folder or cannot be a file name: empty parts, `.` and `..`, backslashes, control
 * characters.
 */
export function readUploadPath(file: string): UploadPath | undefined {
  if (Buffer.byteLength(file) > maxPathBytes || /[\p{Cc}\\]/u.test(file)) return undefined;
  const parts = file.split('/');
  const [applicationId, deviceId, folder, ...rest] = parts;
  if (!applicationId || !deviceId || folder !== 'upload_files' || rest.length === 0) return undefined;
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return undefined;
  return { applicationId, deviceId };
}

/** Maximum bytes of a file; the minimum is one byte (specification Callbacks 5). */
export const maxFileBytes = 20_971_520;

/** Maximum length of a URL that a headset gets. */
const maxUrlCharacters = 8192;

/** The signed URL in an integrator's answer to fileUploadGetUrl, `{url}`; undefined if there is none. */
export function readSignedUrl(answer: Uint8Array): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(answer));
  } catch {
    return undefined;
  }
  const url = typeof value === 'object' && value !== null && 'url' in value ? value.url : undefined;
  if (typeof url !== 'string' || isLongerThan(url, maxUrlCharacters)) return undefined;
  return /^https?:\/\/[^\s\p{Cc}]+$/iu.test(url) && URL.canParse(url) ? url : undefined;
}
