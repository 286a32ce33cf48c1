import { createHash, generateKeyPairSync } from 'node:crypto';

/** The content of a headset's key file: its signing key. The private key is stored on the headset only. */
export interface HeadsetKeyFile {
  /** IMEI, 15 digits. */
  readonly deviceId: string;
  /** RFC 7638 thumbprint; the `kid` of the headset's tokens. */
  readonly keyId: string;
  /** PKCS #8, P-256. */
  readonly privateKeyPem: string;
}

/** Generates an ES256 key pair. Returns the content of the key file, and the public key, which is registered. */
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
