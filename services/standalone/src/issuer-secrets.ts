import { createHash, generateKeyPair, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createSecretFile } from '@headset-cloud/cli/secret-file.ts';
import type { JWK } from 'oidc-provider';

/**
 * The issuer's secrets. They are stored, because without its key all issued tokens would be invalid after a
 * restart.
 */
export interface IssuerSecrets {
  readonly signingKey: JWK;
  readonly cookieKey: string;
}

/** Reads the issuer's secrets from the data directory, or makes them there (readable by the owner only). */
export async function loadIssuerSecrets(dataDir: string): Promise<IssuerSecrets> {
  const file = join(dataDir, 'issuer.json');
  const kept = await read(file);
  if (kept) return kept;
  // Never replaces a file, so two concurrent starts both use the secrets of the first.
  createSecretFile(file, JSON.stringify(await create()));
  const made = await read(file);
  if (!made) throw new Error(`${file} was removed while it was made`);
  return made;
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
  // Without `d` it would be the public half.
  if (secrets?.signingKey?.kty !== 'RSA' || !secrets.signingKey.d || !(secrets.cookieKey?.length >= 32)) {
    throw new Error(
      `${file} does not hold the issuer's key. Restore it, or remove it: then a new key is made and tokens given out before are void.`,
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
