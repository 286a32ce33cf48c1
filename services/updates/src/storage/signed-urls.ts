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

/**
 * Encodes a grant as a path. The grant is sealed, so it cannot be changed or forged. It stays valid after a restart.
 */
export function pathOf(secrets: SecretBox, grant: UrlGrant): string {
  return prefix + Buffer.from(secrets.seal(JSON.stringify(grant), purpose)).toString('base64url');
}

/** Decodes the grant in a path. Returns undefined if this service did not create the path. */
export function grantOf(secrets: SecretBox, path: string): UrlGrant | undefined {
  const token = path.startsWith(prefix) ? path.slice(prefix.length) : '';
  if (!/^[\w-]{40,2000}$/.test(token)) return undefined;
  try {
    return JSON.parse(secrets.open(Buffer.from(token, 'base64url'), purpose)) as UrlGrant;
  } catch {
    return undefined;
  }
}
