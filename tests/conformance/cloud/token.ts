import { createHash, generateKeyPairSync, type KeyObject, verify } from 'node:crypto';

/** A headset's key: the private key for the client, the public key for the cloud. */
export interface Registration {
  readonly imei: string;
  readonly keyId: string;
  readonly audience: string;
  readonly privateKeyPem: string;
  readonly publicKey: KeyObject;
}

export function register(imei: string, audience: string): Registration {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    imei,
    audience,
    keyId: thumbprint(publicKey),
    privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicKey,
  };
}

/** Returns the thumbprint of RFC 7638: the hash of the key's required members in the defined order. */
function thumbprint(publicKey: KeyObject): string {
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
}

/** Claims of a token, and defects of its form (not of its times). */
export interface Token {
  readonly text: string;
  /** Seconds since 1970; 0: absent. */
  readonly iat: number;
  readonly exp: number;
  readonly defects: readonly string[];
}

/** Parses the value of `authorization` (protocol page, "Authentication"). */
export function readToken(authorization: string | undefined, known: Registration): Token {
  const text = /^Bearer (\S+)$/.exec(authorization ?? '')?.[1] ?? '';
  const [head = '', body = '', signature = ''] = text.split('.');
  const header = parse(head);
  const claims = parse(body);
  const defects: string[] = [];
  const demand = (fact: boolean, defect: string) => void (fact || defects.push(defect));
  demand(text !== '', 'authorization is not "Bearer <JWT>"');
  demand(header['alg'] === 'ES256', `alg is ${String(header['alg'])}, not ES256`);
  demand(header['kid'] === known.keyId, `kid is ${String(header['kid'])}, not ${known.keyId}`);
  demand(claims['sub'] === known.imei, `sub is ${String(claims['sub'])}, not ${known.imei}`);
  const audiences = [claims['aud']].flat();
  demand(audiences.includes(known.audience), `aud is ${String(claims['aud'])}, not ${known.audience}`);
  const iat = Number(claims['iat'] ?? 0);
  const exp = Number(claims['exp'] ?? 0);
  demand(iat > 0 && exp > iat, 'iat or exp is missing');
  demand(exp - iat <= 300, `exp − iat is ${exp - iat} s, more than 300`);
  const signed = Buffer.from(`${head}.${body}`);
  const key = { key: known.publicKey, dsaEncoding: 'ieee-p1363' } as const;
  demand(isSigned(signed, key, Buffer.from(signature, 'base64url')), 'the signature is wrong');
  return { text, iat, exp, defects };
}

function isSigned(data: Buffer, key: Parameters<typeof verify>[2], signature: Buffer): boolean {
  try {
    return verify('sha256', data, key, signature);
  } catch {
    return false;
  }
}

function parse(part: string): Record<string, unknown> {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  } catch {
    return {};
  }
}
