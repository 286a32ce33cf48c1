import { createHash, generateKeyPair, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createSecretFile } from '@headset-cloud/cli/secret-file.ts';
import type { JWK } from 'oidc-provider';

/**
 * The issuer's secrets. They are stored, because a new signing key after a restart would invalidate all issued tokens.
 */
export interface IssuerSecrets {
  readonly signingKey: JWK;
  readonly cookieKey: string;
}

/** Reads the issuer's secrets from the data directory, or creates them there. Only the owner can read the file. */
export async function loadIssuerSecrets(dataDir: string): Promise<IssuerSecrets> {
  const file = join(dataDir, 'issuer.json');
  const kept = await read(file);
  if (kept) return kept;
  // Never replaces a file, so two concurrent starts both use the secrets of the first.
  createSecretFile(file, JSON.stringify(await create()));
  const created = await read(file);
  if (!created) throw new Error(`${file} was removed while it was being created`);
  return created;
}

async function read(file: string): Promise<IssuerSecrets | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const secrets = parse(text);
  // `d` is the private part of the key.
  if (secrets?.signingKey?.kty !== 'RSA' || !secrets.signingKey.d || !(secrets.cookieKey?.length >= 32)) {
    throw new Error(
      `${file} does not hold the issuer's key. Restore it, or remove it: then a new key is created, and all issued tokens become invalid.`,
    );
  }
  return secrets;
}

function parse(text: string): IssuerSecrets | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function create(): Promise<IssuerSecrets> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  const jwk = privateKey.export({ format: 'jwk' });
  const kid = createHash('sha256').update(String(jwk.n)).digest('base64url').slice(0, 22);
  const signingKey = { ...jwk, kid, use: 'sig', alg: 'RS256' } as JWK;
  return { signingKey, cookieKey: randomBytes(32).toString('base64url') };
}
