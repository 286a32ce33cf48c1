import { createHash } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeManifest, withSigningBlock } from '@headset-cloud/demo/apk.ts';
import { rawZip } from '../testing/raw-zip.ts';
import { checkFile } from './check-file.ts';

const claimed = { package: 'com.example.app', version: '1.0.0' };
const declared = { kind: 'software', ...claimed } as const;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'hostile-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('contents of real packages are accepted: folders, any names, comments, extra fields, stored and empty entries', async () => {
  const content = makeManifest({ package: claimed.package, versionName: claimed.version });
  const path = join(folder, 'a.apk');
  const zip = rawZip([
    { name: 'AndroidManifest.xml', content, comment: Buffer.from('first'), extra: Buffer.from([9, 9, 0, 0]) },
    { name: 'lib/', method: 0, attributes: 0o040755 * 65536 },
    { name: 'lib/x86\\a.so', content: Buffer.alloc(70_000, 'so'), attributes: 0o100644 * 65536 },
    { name: 'assets/日本語..txt', content: Buffer.from('text'), method: 0 },
    { name: 'empty' },
  ]);
  const bytes = withSigningBlock(zip);
  writeFileSync(path, bytes);
  const fd = openSync(path, 'r');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  expect(await checkFile(fd, declared)).toEqual({ sha256 });
  closeSync(fd);
});
