import { createPublicKey, type KeyObject, type webcrypto } from 'node:crypto';

/** Signature algorithms that access tokens may use (rule C11). All are asymmetric. */
export const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
] as const;

export type Algorithm = (typeof algorithms)[number];

/** One usable public key of the issuer. */
export interface SigningKey {
  readonly kid: string | undefined;
  readonly key: KeyObject;
  /** Algorithms that the key may verify: those of its kind, or the single algorithm that the issuer names. */
  readonly algorithms: ReadonlySet<Algorithm>;
}

const curves: Readonly<Record<string, Algorithm>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

const minimumModulusBits = 2048;
const keyLimit = 100;

/**
 * The usable keys of a JWKS document: public RSA keys of at least 2048 bits and EC keys of the three curves, for
 * signatures. Ignores other keys, because an issuer may publish keys for other uses. Throws if the document is not a
 * JWKS.
 */
export function signingKeys(document: unknown): SigningKey[] {
  const keys = (document as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys)) throw new Error('the JWKS document has no keys');
  return keys.slice(0, keyLimit).flatMap((jwk) => {
    const key = signingKey(jwk);
    return key ? [key] : [];
  });
}

function signingKey(jwk: unknown): SigningKey | undefined {
  if (typeof jwk !== 'object' || jwk === null) return undefined;
  const { kty, use, alg, kid, key_ops: operations } = jwk as Record<string, unknown>;
  if (kty !== 'RSA' && kty !== 'EC') return undefined;
  if (use !== undefined && use !== 'sig') return undefined;
  if (Array.isArray(operations) && !operations.includes('verify')) return undefined;
  let key: KeyObject;
  try {
    key = createPublicKey({ key: jwk as webcrypto.JsonWebKey, format: 'jwk' });
  } catch {
    return undefined;
  }
  const usable = algorithmsOf(key).filter((a) => alg === undefined || a === alg);
  if (usable.length === 0) return undefined;
  return { kid: typeof kid === 'string' ? kid : undefined, key, algorithms: new Set(usable) };
}

function algorithmsOf(key: KeyObject): Algorithm[] {
  const details = key.asymmetricKeyDetails;
  if (key.asymmetricKeyType === 'rsa') {
    return (details?.modulusLength ?? 0) >= minimumModulusBits
      ? algorithms.filter((a) => a.startsWith('RS') || a.startsWith('PS'))
      : [];
  }
  const algorithm = curves[details?.namedCurve ?? ''];
  return algorithm ? [algorithm] : [];
}
