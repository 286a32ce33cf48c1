import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** Encrypts values that must not be readable in the database (keys, client secrets): AES-256-GCM. */
export interface SecretBox {
  /** nonce, ciphertext and tag in one; `purpose` must be given again to open it. */
  seal(plain: string, purpose: string): Uint8Array;
  /** Throws when the key or the purpose differ or the bytes were changed. */
  open(sealed: Uint8Array, purpose: string): string;
}

/** `secret`: at least 32 characters of high entropy, the platform's SECRET_KEY. */
export function createSecretBox(secret: string): SecretBox {
  const key = createHash('sha256').update('headset-cloud secret box v1\0').update(secret).digest();
  return {
    seal(plain, purpose) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose));
      return Buffer.concat([nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, purpose) {
      const data = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
      const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, 12)).setAAD(
        Buffer.from(purpose),
      );
      decipher.setAuthTag(data.subarray(-16));
      return Buffer.concat([decipher.update(data.subarray(12, -16)), decipher.final()]).toString('utf8');
    },
  };
}
