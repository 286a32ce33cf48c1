import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { readConfig } from './config.ts';
import { sealingConfig } from './sealing-config.ts';
import { createSecretBox, keyIdOf, namedKey, secretKeysOf } from './secrets.ts';

const [old, next, third] = ['old', 'next', 'third'].map(
  (name) => `${name} key of more than thirty-two characters`,
) as [string, string, string];
const purpose = 'authentication key app';

/** As release 0.1.0 opens: it knows one key, and no key ids. */
function openAs010(secret: string, sealed: Uint8Array): string {
  const key = createHash('sha256').update('headset-cloud secret box v1\0').update(secret).digest();
  const data = Buffer.from(sealed);
  const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, 12)).setAAD(Buffer.from(purpose));
  decipher.setAuthTag(data.subarray(-16));
  return Buffer.concat([decipher.update(data.subarray(12, -16)), decipher.final()]).toString('utf8');
}

test('with one key, release 0.1.0 decrypts the values', () => {
  const sealed = createSecretBox(old).seal('text', purpose);
  expect(openAs010(old, sealed)).toBe('text');
  expect(namedKey(sealed)).toBeUndefined();
});

test('with several keys an encrypted value names its key, and each key decrypts its own values', () => {
  const both = createSecretBox(next, [old]);
  const before = createSecretBox(old, [next]);
  const sealed = both.seal('text', purpose);
  expect(namedKey(sealed)).toBe(keyIdOf(next));
  expect(namedKey(before.seal('text', purpose))).toBe(keyIdOf(old));
  for (const value of [sealed, before.seal('text', purpose), createSecretBox(old).seal('text', purpose)]) {
    expect(both.open(value, purpose)).toBe('text');
    expect(before.open(value, purpose)).toBe('text');
  }
  // The former key is no longer configured.
  expect(createSecretBox(next).open(sealed, purpose)).toBe('text');
});

test('an error names the key that is not configured, and no secret', () => {
  const sealed = createSecretBox(next, [old]).seal('text', purpose);
  expect(() => createSecretBox(third).open(sealed, purpose)).toThrow(
    `A value is sealed by key ${keyIdOf(next)}, which neither SECRET_KEY nor SECRET_KEY_OTHERS is.`,
  );
  expect(() => createSecretBox(third).open(createSecretBox(old).seal('text', purpose), purpose)).toThrow(
    'neither SECRET_KEY nor SECRET_KEY_OTHERS opens it',
  );
  expect(keyIdOf(next)).toMatch(/^[0-9a-f]{12}$/);
});

// protects against stores/sealed-moved
test('a value with another purpose, a changed byte or too few bytes is not decrypted', () => {
  const both = createSecretBox(next, [old]);
  const sealed = both.seal('text', purpose);
  expect(() => both.open(sealed, 'another')).toThrow();
  for (let at = 9; at < sealed.length; at += 1) {
    const changed = Uint8Array.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(both.keyOf(changed, purpose)).toBeUndefined();
  }
  expect(both.keyOf(sealed.subarray(0, 20), purpose)).toBeUndefined();
  expect(both.keyOf(new Uint8Array(), purpose)).toBeUndefined();
});

test('a value that begins like a key’s name is decrypted correctly', () => {
  const [mark] = createSecretBox(next, [old]).seal('text', purpose);
  // Its nonce begins with the mark; 0.1.0 makes one such value in 16 million.
  const nonce = Buffer.concat([Buffer.from([mark ?? 0]), Buffer.from('C\x01', 'latin1'), Buffer.alloc(9, 7)]);
  const key = createHash('sha256').update('headset-cloud secret box v1\0').update(old).digest();
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose));
  const sealed = Buffer.concat([
    nonce,
    cipher.update('a long text', 'utf8'),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  expect(namedKey(sealed)).toBe('07'.repeat(6));
  expect(createSecretBox(next, [old]).open(sealed, purpose)).toBe('a long text');
  expect(createSecretBox(next, [old]).keyOf(sealed, purpose)).toBe(keyIdOf(old));
});

test('a value is current if it has the current key and the current form', () => {
  const both = createSecretBox(next, [old]);
  expect(both.isCurrent(both.seal('text', purpose), purpose)).toBe(true);
  expect(both.isCurrent(createSecretBox(next).seal('text', purpose), purpose)).toBe(false);
  expect(both.isCurrent(createSecretBox(old, [next]).seal('text', purpose), purpose)).toBe(false);
  // The way back to a release that knows no key ids.
  expect(createSecretBox(next).isCurrent(both.seal('text', purpose), purpose)).toBe(false);
  expect(createSecretBox(next).isCurrent(createSecretBox(next).seal('text', purpose), purpose)).toBe(true);
});

test('the configuration lists further keys, one per line', () => {
  const { sealing, others } = secretKeysOf({ SECRET_KEY: next, SECRET_KEY_OTHERS: `${old}\n${third}` });
  expect([sealing, others]).toEqual([keyIdOf(next), [keyIdOf(old), keyIdOf(third)]]);
  expect(secretKeysOf({ SECRET_KEY: next }).others).toEqual([]);
  expect(secretKeysOf({ SECRET_KEY: next, SECRET_KEY_OTHERS: next }).others).toEqual([]);
});

test('the error about a key that is too short names the key, and does not show it', () => {
  const { SECRET_KEY, SECRET_KEY_OTHERS } = sealingConfig;
  const read = (others: string) =>
    readConfig({ SECRET_KEY, SECRET_KEY_OTHERS }, { SECRET_KEY: next, SECRET_KEY_OTHERS: others });
  expect(secretKeysOf(read(`${old}\n${third}`)).others).toHaveLength(2);
  expect(() => read(`${old}\ntoo-short`)).toThrow(
    /^SECRET_KEY_OTHERS: the value is not at least 32 characters a line\. /,
  );
  expect(() => read(`${old}\ntoo-short`)).not.toThrow(/too-short/);
});
