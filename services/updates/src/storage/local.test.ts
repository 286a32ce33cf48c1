import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createSecretBox } from '@headset-cloud/runtime/secrets.ts';
import { createLocalStorage, type LocalStorage } from './local.ts';

// tests/contract tests the guarantees of both storages. This test covers the disk only.
let folder: string;
let storage: LocalStorage;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'local-storage-'));
  const secrets = createSecretBox('a test secret of more than thirty-two characters');
  storage = createLocalStorage({ folder, secrets, publicUrl: () => 'http://files' });
  await storage.prepare();
});
afterEach(() => rmSync(folder, { recursive: true }));

const key = 'uploads/0a';
const write = (text: string) => storage.write(key, Readable.from([Buffer.from(text)]), text.length);
const tag = async () => (await storage.head(key))?.tag ?? '';

test('a file is discarded by its tag; a file that replaced it is kept', async () => {
  await write('bad');
  const first = await tag();
  await storage.discard(key, first);
  expect(await storage.head(key)).toBeUndefined();
  await storage.discard(key, first);
  for (let round = 0; round < 50; round += 1) {
    await write('bad');
    const old = await tag();
    await Promise.all([write('new'), storage.discard(key, old), storage.discard(key, old)]);
    expect(await tag()).not.toBe('');
    await storage.discard(key, old);
    expect(await tag()).not.toBe('');
  }
});
