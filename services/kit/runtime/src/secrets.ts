import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** Encrypts values that must not be readable in the database (keys, client secrets): AES-256-GCM. */
export interface SecretBox {
  /** Returns key id (if there are several keys), nonce, ciphertext and tag; opening requires the same `purpose`. */
  seal(plain: string, purpose: string): Uint8Array;
  /** Throws if no key opens the value, the purpose differs or the bytes were changed. */
  open(sealed: Uint8Array, purpose: string): string;
}

/** A secret box with several keys. The ids of the keys reveal nothing about the keys. */
export interface SecretKeys extends SecretBox {
  /** Id of the key that seals. */
  readonly sealing: string;
  /** Ids of the keys that only open. */
  readonly others: readonly string[];
  /** Returns the id of the key that opens the value; undefined: no key does. */
  keyOf(sealed: Uint8Array, purpose: string): string | undefined;
  /** True if `seal` would now use the same key and the same format. */
  isCurrent(sealed: Uint8Array, purpose: string): boolean;
}

/**
 * Returns the key id in a sealed value; undefined: the value has no key id, because there was one key when it was
 * sealed.
 */
export function namedKey(sealed: Uint8Array): string | undefined {
  const data = bytesOf(sealed);
  if (data.length < markBytes + overheadBytes || !data.subarray(0, mark.length).equals(mark))
    return undefined;
  return data.subarray(mark.length, markBytes).toString('hex');
}

/** The id of a key: 12 hexadecimal digits. */
export function keyIdOf(secret: string): string {
  return digest('headset-cloud key id v1\0', secret).subarray(0, idBytes).toString('hex');
}

/**
 * Prefix of a sealed value with a key id. One in 16 million nonces, which begin other values, has this prefix by
 * chance.
 */
const mark = Buffer.from('HC\x01', 'latin1');
const idBytes = 6;
const markBytes = mark.length + idBytes;
const nonceBytes = 12;
const tagBytes = 16;
/** Length of a sealed empty text without a key id. */
const overheadBytes = nonceBytes + tagBytes;

/**
 * Creates a secret box. `secret`: the key that seals, SECRET_KEY, at least 32 random characters. `others`: keys that
 * only open. Without `others`, sealed values have no key id, so that release 0.1.0 can read them (ADR 0039).
 */
export function createSecretBox(secret: string, others: readonly string[] = []): SecretKeys {
  const keys = new Map([secret, ...others].map((one) => [keyIdOf(one), keyFrom(one)]));
  const [[sealing, sealingKey] = ['', Buffer.alloc(0)], ...opening] = keys;
  const header = keys.size > 1 ? Buffer.concat([mark, Buffer.from(sealing, 'hex')]) : Buffer.alloc(0);

  /** Returns the key's id, the text, and whether the value names the key; undefined: no key opens it. */
  function tryAll(sealed: Uint8Array, purpose: string) {
    const data = bytesOf(sealed);
    const named = namedKey(data);
    const key = named === undefined ? undefined : keys.get(named);
    if (named !== undefined && key) {
      const plain = decrypt(key, data.subarray(markBytes), purpose);
      if (plain !== undefined) return { id: named, plain, named: true };
    }
    for (const [id, one] of keys) {
      const plain = decrypt(one, data, purpose);
      if (plain !== undefined) return { id, plain, named: false };
    }
    return undefined;
  }

  return {
    sealing,
    others: opening.map(([id]) => id),
    seal(plain, purpose) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', sealingKey, nonce).setAAD(Buffer.from(purpose));
      return Buffer.concat([
        header,
        nonce,
        cipher.update(plain, 'utf8'),
        cipher.final(),
        cipher.getAuthTag(),
      ]);
    },
    open(sealed, purpose) {
      const found = tryAll(sealed, purpose);
      if (found) return found.plain;
      const named = namedKey(sealed);
      throw new Error(
        named === undefined || keys.has(named)
          ? 'A sealed value was changed, or neither SECRET_KEY nor SECRET_KEY_OTHERS opens it.'
          : `A value is sealed by key ${named}, which neither SECRET_KEY nor SECRET_KEY_OTHERS is.`,
      );
    },
    keyOf: (sealed, purpose) => tryAll(sealed, purpose)?.id,
    isCurrent(sealed, purpose) {
      const found = tryAll(sealed, purpose);
      return found?.id === sealing && found.named === header.length > 0;
    },
  };
}

/** The keys of a process, from its configuration. */
export function secretKeysOf(config: {
  SECRET_KEY: string;
  SECRET_KEY_OTHERS?: string | undefined;
}): SecretKeys {
  return createSecretBox(config.SECRET_KEY, config.SECRET_KEY_OTHERS?.split(/\r?\n/));
}

function decrypt(key: Buffer, data: Buffer, purpose: string): string | undefined {
  if (data.length < overheadBytes) return undefined;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, nonceBytes)).setAAD(
      Buffer.from(purpose),
    );
    decipher.setAuthTag(data.subarray(-tagBytes));
    return Buffer.concat([decipher.update(data.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString(
      'utf8',
    );
  } catch {
    return undefined;
  }
}

function bytesOf(sealed: Uint8Array): Buffer {
  return Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
}

function keyFrom(secret: string): Buffer {
  return digest('headset-cloud secret box v1\0', secret);
}

function digest(label: string, secret: string): Buffer {
  return createHash('sha256').update(label).update(secret).digest();
}
