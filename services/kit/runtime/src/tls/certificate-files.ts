import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { systemTime, type Time } from '../clock.ts';
import { ConfigError } from '../config.ts';
import type { Logger } from '../logger.ts';

/** A certificate chain with its private key, and the authorities for peers' certificates; PEM. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
  /** Empty if peers' certificates are not checked. */
  readonly ca: string;
}

/** One of the files: the setting that names it, and its path. */
export interface NamedFile {
  readonly setting: string;
  readonly path: string;
}

/** Files with a certificate, its key and authorities, which are read again while the process runs. */
export interface CertificateFiles {
  /** The newest valid material. */
  current(): TlsMaterial;
  /** Expiry of the current certificate; milliseconds since 1970. */
  expiresAtMs(): number;
  /** Registers a listener for later changes. */
  onChange(listener: (material: TlsMaterial) => void): void;
  /** Stops reading the files. */
  close(): void;
}

export interface CertificateFilesOptions {
  readonly cert: NamedFile;
  readonly key: NamedFile;
  /** Absent: certificates of peers are not checked. */
  readonly ca?: NamedFile;
  /** The DNS names that the certificate must have; absent: any. */
  readonly names?: readonly string[];
  readonly logger: Logger;
  /** Interval at which the files are read; milliseconds. */
  readonly everyMs?: number;
  readonly time?: Time;
}

/**
 * Default interval; milliseconds. Kubernetes takes about a minute to update a mounted Secret, so 5 s more do not
 * matter.
 */
const defaultEveryMs = 5000;

/**
 * Opens the files and reads their contents again at an interval. File watches are not used, because they do not detect
 * how Kubernetes changes a mounted Secret: it replaces a symbolic link. Logs an invalid change and keeps the previous
 * material. Throws ConfigError, with the setting and the reason, if the first material is invalid.
 */
export function openCertificateFiles(options: CertificateFilesOptions): CertificateFiles {
  const { logger, time = systemTime } = options;
  const listeners: ((material: TlsMaterial) => void)[] = [];
  let seen = read(options);
  const problem = problemOf(seen, options);
  if (problem) throw new ConfigError([problem]);
  let current = materialOf(seen);
  warnOfExpiry(current, options);

  const checkForChange = () => {
    const before = seen;
    let now = read(options);
    if (same(now, before)) return;
    // The files may be replaced between the reads of two files, so an invalid combination is read again once.
    if (problemOf(now, options)) now = read(options);
    seen = now;
    const wrong = problemOf(now, options);
    if (wrong) {
      logger.error(wrong, 'the changed certificate cannot be used; the one before it stays in use');
      return;
    }
    const material = materialOf(now);
    if (same(material, current)) return;
    current = material;
    logger.info(
      { file: options.cert.path, validTo: leafOf(material).validTo },
      'the certificate has been read again',
    );
    warnOfExpiry(material, options);
    for (const listener of listeners) listener(material);
  };
  const timer = time.setInterval(checkForChange, options.everyMs ?? defaultEveryMs);
  timer.unref();
  return {
    current: () => current,
    expiresAtMs: () => leafOf(current).validToDate.getTime(),
    onChange: (listener) => void listeners.push(listener),
    close: () => time.clearTimer(timer),
  };
}

/** The text of each file, or the Error if it cannot be read. */
type Reading = { readonly [K in keyof TlsMaterial]: string | Error };

function read({ cert, key, ca }: CertificateFilesOptions): Reading {
  const one = ({ path }: NamedFile) => {
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      return error as Error;
    }
  };
  return { cert: one(cert), key: one(key), ca: ca ? one(ca) : '' };
}

function same(a: Reading, b: Reading): boolean {
  return (
    String(a.cert) === String(b.cert) && String(a.key) === String(b.key) && String(a.ca) === String(b.ca)
  );
}

/** Converts a reading, in which `problemOf` has found no problem. */
function materialOf({ cert, key, ca }: Reading): TlsMaterial {
  return { cert: String(cert), key: String(key), ca: authoritiesIn(String(ca)).join('\n') };
}

/** Splits a file into its certificates. OpenSSL needs a line break between them, which concatenated files may lack. */
function authoritiesIn(ca: string): string[] {
  return ca.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

function problemOf(
  reading: Reading,
  options: CertificateFilesOptions,
): { setting: string; reason: string } | undefined {
  const wrong = ({ setting, path }: NamedFile, why: string) => ({
    setting,
    reason: `${setting}: ${path} ${why}.`,
  });
  for (const part of ['cert', 'key', 'ca'] as const) {
    const text = reading[part];
    const file = options[part];
    if (file && text instanceof Error) return wrong(file, `cannot be read (${text.message})`);
  }
  const [cert, key] = [String(reading.cert), String(reading.key)];
  let leaf: X509Certificate;
  try {
    leaf = new X509Certificate(cert);
  } catch {
    return wrong(options.cert, 'is not a certificate in PEM');
  }
  const named = leaf.subjectAltName ?? 'no subjectAltName';
  const missing = options.names?.find((name) => !named.split(', ').includes(`DNS:${name}`));
  if (missing !== undefined) {
    return wrong(
      options.cert,
      `is not for ${missing} (it has ${named}), so no other process would accept it`,
    );
  }
  try {
    if (!leaf.checkPrivateKey(createPrivateKey(key))) {
      return wrong(options.key, `does not belong to the certificate ${options.cert.path}`);
    }
  } catch {
    return wrong(options.key, 'is not a private key in PEM without a password');
  }
  const authorities = authoritiesIn(String(reading.ca));
  if (options.ca) {
    if (authorities.length === 0) return wrong(options.ca, 'has no certificate in PEM');
    try {
      for (const one of authorities) new X509Certificate(one);
    } catch {
      return wrong(options.ca, 'has a certificate that cannot be read');
    }
  }
  // Also reads the other certificates of the chain, which `X509Certificate` ignores.
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    return wrong(options.cert, `has a chain that cannot be used (${(error as Error).message})`);
  }
  return undefined;
}

function leafOf({ cert }: TlsMaterial): X509Certificate {
  return new X509Certificate(cert);
}

function warnOfExpiry(
  material: TlsMaterial,
  { cert, logger, time = systemTime }: CertificateFilesOptions,
): void {
  const { validTo, validToDate } = leafOf(material);
  if (validToDate.getTime() > time.now()) return;
  logger.error({ file: cert.path, validTo }, 'the certificate of this process has expired, peers reject it');
}
