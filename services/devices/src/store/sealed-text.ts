import type { SecretBox } from '@headset-cloud/runtime/secrets.ts';

/** Seals a text for the database, as base64. */
export function sealText(secrets: SecretBox, plain: string, purpose: string): string {
  return Buffer.from(secrets.seal(plain, purpose)).toString('base64');
}

/** Opens a text that `sealText` sealed for the same purpose. */
export function openText(secrets: SecretBox, sealed: string, purpose: string): string {
  return secrets.open(Buffer.from(sealed, 'base64'), purpose);
}

/** Purpose of each sealed text. A text can be opened only with the purpose it was sealed for. */
export const purposes = {
  authenticationKey: (applicationId: string) => `authentication key ${applicationId}`,
  clientSecret: (deviceId: string) => `client secret ${deviceId}`,
};
