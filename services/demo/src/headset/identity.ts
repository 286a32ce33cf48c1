import { sign } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { userText } from '@headset-cloud/runtime/user-text.ts';

/** Signs a token for one connection: ES256, valid for two minutes from `nowMs` (protocol page, "Authentication"). */
export function mintToken(identity: HeadsetKeyFile, audience: string, nowMs: number): string {
  const iat = Math.floor(nowMs / 1000);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const head = part({ alg: 'ES256', typ: 'JWT', kid: identity.keyId });
  const signed = `${head}.${part({ iat, exp: iat + 120, sub: identity.deviceId, aud: audience })}`;
  const key = { key: identity.privateKeyPem, dsaEncoding: 'ieee-p1363' } as const;
  return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`;
}

/**
 * Reads headset keys from a JSON file with one key or an array of keys, or from a folder of such files. Throws an
 * Error that names an invalid file.
 */
export function readIdentities(path: string): HeadsetKeyFile[] {
  if (statSync(path).isDirectory()) {
    return readdirSync(path)
      .filter((name) => name.endsWith('.json'))
      .sort()
      .flatMap((name) => readIdentities(join(path, name)));
  }
  const parsed: unknown = JSON.parse(userText(readFileSync(path)));
  const list = Array.isArray(parsed) ? parsed : [parsed];
  for (const item of list as Partial<HeadsetKeyFile>[]) {
    if (!/^\d{15}$/.test(item?.deviceId ?? '') || !item?.keyId || !item?.privateKeyPem) {
      throw new Error(`${path} is not a headset's key file: {"deviceId", "keyId", "privateKeyPem"}`);
    }
  }
  return list as HeadsetKeyFile[];
}
