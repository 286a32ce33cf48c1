import type { SecretBox } from '@headset-cloud/runtime/secrets.ts';

/** Access that a URL of the local storage grants. */
export interface UrlGrant {
  readonly method: 'PUT' | 'GET';
  readonly key: string;
  /** Set only for an upload. */
  readonly contentType?: string;
  readonly sizeBytes?: number;
  readonly expiresAtMs: number;
}

const purpose = 'updates storage url';
const prefix = '/objects/';

/** The grant as a path. It is sealed, so that it cannot be changed or forged. It stays valid after a restart. */
export function pathOf(secrets: SecretBox, grant: UrlGrant): string {
  return prefix + Buffer.from(secrets.seal(JSON.stringify(grant), purpose)).toString('base64url');
}

/** The grant in a path; undefined if the path was not created by this service. */
export function grantOf(secrets: SecretBox, path: string): UrlGrant | undefined {
  const token = path.startsWith(prefix) ? path.slice(prefix.length) : '';
  if (!/^[\w-]{40,2000}$/.test(token)) return undefined;
  try {
    return JSON.parse(secrets.open(Buffer.from(token, 'base64url'), purpose)) as UrlGrant;
  } catch {
    return undefined;
  }
}
