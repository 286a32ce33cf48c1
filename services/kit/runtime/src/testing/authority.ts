// x509's dependency injection needs it before its first import.
import 'reflect-metadata';
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  KeyObject,
  randomBytes,
  webcrypto,
} from 'node:crypto';
import { isIP } from 'node:net';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** A certificate and its private key, PEM. */
export interface Issued {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority for trials and tests. */
export interface Authority {
  /** Its own certificate, PEM. */
  readonly ca: string;
  /** A certificate for servers and clients with these DNS names and IP addresses; valid from now until `validMs` from now. */
  issue(names: readonly string[], validity?: { fromMs?: number; untilMs?: number }): Promise<Issued>;
}

type KeyPair = Required<webcrypto.CryptoKeyPair>;

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const yearMs = 365 * 86_400_000;
/** Clocks of peers may be a little behind. */
const behindMs = 3_600_000;

/** Makes an authority that is valid for a year. */
export async function createAuthority(name: string): Promise<Authority> {
  return authorityOf(name, await newKeys());
}

/** The authority of a key that was kept (PKCS#8 PEM, as `keyOfAuthority` makes it), with a certificate for a year. */
export async function restoreAuthority(name: string, key: string): Promise<Authority> {
  const pkcs8 = createPrivateKey(key).export({ type: 'pkcs8', format: 'der' });
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const { subtle } = webcrypto;
  return authorityOf(name, {
    privateKey: await subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']),
    publicKey: await subtle.importKey('spki', spki, algorithm, true, ['verify']),
  });
}

/** A new private key for `restoreAuthority`, PKCS#8 PEM. */
export function keyOfAuthority(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

async function authorityOf(name: string, keys: KeyPair): Promise<Authority> {
  const notBefore = new Date(Date.now() - behindMs);
  const notAfter = new Date(Date.now() + yearMs);
  const own = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: `CN=${name}`,
    notBefore,
    notAfter,
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
    ],
  });
  return {
    ca: own.toString('pem'),
    async issue(names, validity = {}) {
      const { privateKey, publicKey } = await newKeys();
      const cert = await X509CertificateGenerator.create({
        serialNumber: serialNumber(),
        subject: `CN=${names[0]}`,
        issuer: own.subject,
        notBefore: new Date(validity.fromMs ?? notBefore),
        notAfter: new Date(validity.untilMs ?? notAfter),
        signingAlgorithm: algorithm,
        publicKey,
        signingKey: keys.privateKey,
        extensions: [
          new BasicConstraintsExtension(false, undefined, true),
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
          new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
          new SubjectAlternativeNameExtension(
            names.map((value) => ({ type: isIP(value) ? 'ip' : 'dns', value })),
          ),
        ],
      });
      const key = KeyObject.from(privateKey).export({ type: 'pkcs8', format: 'pem' }).toString();
      return { cert: cert.toString('pem'), key };
    },
  };
}

function newKeys(): Promise<KeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']) as Promise<KeyPair>;
}

/** 16 random bytes; the first is below 0x80, as the number must be positive. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01;
  return bytes.toString('hex');
}
