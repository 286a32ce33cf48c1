import { createHash, generateKeyPairSync } from 'node:crypto';
import { unlinkSync } from 'node:fs';
import { CliError } from '@headset-cloud/kit/cli/exit-codes.ts';
import { createSecretFile } from '@headset-cloud/kit/cli/secret-file.ts';
import { exitCodes } from './exit-codes.ts';

/** A headset's signing key: the content of a key file. */
export interface HeadsetKeyFile {
  readonly deviceId: string;
  /** RFC 7638 thumbprint; goes into the JWT's kid. */
  readonly keyId: string;
  /** PKCS #8, P-256. */
  readonly privateKeyPem: string;
}

/** A new ES256 key pair: the file's content and the public half to register. */
export function generateHeadsetKey(deviceId: string): { file: HeadsetKeyFile; publicKeyPem: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });
  // RFC 7638: exactly the required members, in this order, without white space.
  const keyId = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
  return {
    file: { deviceId, keyId, privateKeyPem: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString() },
    publicKeyPem: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
  };
}

/** The content of a key file. */
export function keyFileText(key: HeadsetKeyFile): string {
  return `${JSON.stringify(key, null, 2)}\n`;
}

/**
 * Writes a key file that only its owner can read (mode 0600); never over an existing one. Durable when it
 * returns.
 */
export function writeKeyFile(path: string, key: HeadsetKeyFile): void {
  let reason = 'it exists, and a key is never written over another';
  try {
    if (createSecretFile(path, keyFileText(key))) return;
  } catch (error) {
    reason = (error as Error).message;
  }
  throw new CliError(
    exitCodes.usage,
    `The key file ${path} cannot be written: ${reason}. Choose another with --out.`,
  );
}

/** Removes a key file whose public half was not registered. */
export function removeKeyFile(path: string): void {
  unlinkSync(path);
}
