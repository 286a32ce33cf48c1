import type { SecretBox } from '@headset-cloud/kit/secrets.ts';

/** What a URL of the local storage allows. */
export interface Permit {
  readonly method: 'PUT' | 'GET';
  readonly key: string;
  /** Only for an upload. */
  readonly contentType?: string;
  readonly sizeBytes?: number;
  readonly expiresAtMs: number;
}

const purpose = 'updates storage url';
const prefix = '/objects/';

/** The permit as a path: sealed, so that it cannot be changed or forged; stays valid over restarts. */
export function pathOf(secrets: SecretBox, permit: Permit): string {
  return prefix + Buffer.from(secrets.seal(JSON.stringify(permit), purpose)).toString('base64url');
}

/** The permit in a path; undefined: the path was not made by this service. */
export function permitOf(secrets: SecretBox, path: string): Permit | undefined {
  const token = path.startsWith(prefix) ? path.slice(prefix.length) : '';
  if (!/^[\w-]{40,2000}$/.test(token)) return undefined;
  try {
    return JSON.parse(secrets.open(Buffer.from(token, 'base64url'), purpose)) as Permit;
  } catch {
    return undefined;
  }
}
