import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@headset-cloud/runtime/config.ts';
import { ownSecretKey } from './own-secret-key.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'own-secret-key-'));
  file = join(folder, 'secret.key');
});
afterEach(() => rmSync(folder, { recursive: true }));

test('the key is generated once, stored for its owner only, and used again', () => {
  const key = ownSecretKey(folder);
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual([key, 0o600]);
  expect(ownSecretKey(folder)).toBe(key);
  expect(readdirSync(folder)).toEqual(['secret.key']);
});

// protects against stores/empty-key
test.each(['', '\n', 'a short key'])('a file with %j is refused by its name, and stays', (content) => {
  writeFileSync(file, content);
  let refused: unknown;
  try {
    ownSecretKey(folder);
  } catch (error) {
    refused = error;
  }
  expect(refused).toBeInstanceOf(ConfigError);
  expect((refused as ConfigError).message).toContain(`${file} holds no SECRET_KEY: it is `);
  expect(readFileSync(file, 'utf8')).toBe(content);
});
