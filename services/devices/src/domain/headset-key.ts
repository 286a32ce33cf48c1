import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** The public half of a headset's key. */
export interface HeadsetKey {
  /** RFC 7638 thumbprint; the JWT's `kid`. */
  readonly keyId: string;
  /** SPKI PEM, P-256. */
  readonly publicKeyPem: string;
}

/** A key that is registered for a device. */
export interface RegisteredKey extends HeadsetKey {
  /** Name given by the operator; absent if there is none. */
  readonly name?: string;
  /** Milliseconds since 1970; absent if 0.1.0 registered the key. */
  readonly createdAtMs?: number;
}

/** Maximum keys of a device: the key in use, and its replacement. */
export const maxKeys = 2;

/** Minimum time between two writes of a key's last use; milliseconds. */
export const keyUseIntervalMs = 3_600_000;

/** Reads a public key; throws `invalid_argument` unless it is an SPKI PEM of an EC P-256 key. */
export function readHeadsetKey(pem: string): HeadsetKey {
  let key: KeyObject;
  try {
    // createPublicKey also reads private keys and certificates.
    if (!pem.includes('-----BEGIN PUBLIC KEY-----')) throw new Error('it is not a public key');
    key = createPublicKey(pem);
  } catch (cause) {
    throw new DomainError(
      'invalid_argument',
      'public_key_pem is not a public key in PEM form (-----BEGIN PUBLIC KEY-----).',
      { cause },
    );
  }
  const { kty, crv, x, y } = key.export({ format: 'jwk' });
  if (kty !== 'EC' || crv !== 'P-256') {
    throw new DomainError('invalid_argument', 'public_key_pem is not an EC key on P-256 (ES256).');
  }
  // RFC 7638: exactly the required members, in this order, without white space.
  const keyId = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
  return { keyId, publicKeyPem: key.export({ format: 'pem', type: 'spki' }).toString() };
}
