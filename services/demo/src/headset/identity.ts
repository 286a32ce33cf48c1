import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { userText } from '@headset-cloud/kit/user-text.ts';

/** What makes a headset itself: its IMEI and its own key. */
export interface HeadsetIdentity {
  /** IMEI, 15 digits. */
  readonly deviceId: string;
  readonly keyId: string;
  /** PKCS#8 PEM, P-256. Never leaves the headset. */
  readonly privateKeyPem: string;
}

/** A new key pair: the identity, and the public half that is registered with the platform. */
export function createIdentity(deviceId: string): { identity: HeadsetIdentity; publicKeyPem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    identity: {
      deviceId,
      keyId: randomUUID(),
      privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    },
    publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

/** A token for one connection: ES256, valid for two minutes from `nowMs` (protocol page, "Authentication"). */
export function mintToken(identity: HeadsetIdentity, audience: string, nowMs: number): string {
  const iat = Math.floor(nowMs / 1000);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const head = part({ alg: 'ES256', typ: 'JWT', kid: identity.keyId });
  const signed = `${head}.${part({ iat, exp: iat + 120, sub: identity.deviceId, aud: audience })}`;
  const key = { key: identity.privateKeyPem, dsaEncoding: 'ieee-p1363' } as const;
  return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`;
}

/**
 * Reads identities: a JSON file with one or an array of them, or a folder of such files. Throws an
 * Error that names the file when one is not an identity.
 */
export function readIdentities(path: string): HeadsetIdentity[] {
  if (statSync(path).isDirectory()) {
    return readdirSync(path)
      .filter((name) => name.endsWith('.json'))
      .sort()
      .flatMap((name) => readIdentities(join(path, name)));
  }
  const parsed: unknown = JSON.parse(userText(readFileSync(path)));
  const list = Array.isArray(parsed) ? parsed : [parsed];
  for (const item of list as Partial<HeadsetIdentity>[]) {
    if (!/^\d{15}$/.test(item?.deviceId ?? '') || !item?.keyId || !item?.privateKeyPem) {
      throw new Error(`${path} is not a headset's key file: {"deviceId", "keyId", "privateKeyPem"}`);
    }
  }
  return list as HeadsetIdentity[];
}
