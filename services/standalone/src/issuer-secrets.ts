import { createHash, generateKeyPair, randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
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
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(JSON.stringify(await create()));
      await handle.sync();
    } finally {
      await handle.close();
    }
    // A link never replaces a file, so two concurrent starts both use the secrets of the first.
    await link(draft, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(draft, { force: true });
  }
  const made = await read(file);
  if (!made) throw new Error(`${file} has gone while it was made`);
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
  if (secrets?.signingKey?.kty !== 'RSA' || typeof secrets.cookieKey !== 'string') {
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
