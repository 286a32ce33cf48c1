import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeApk, makeManifest, withSigningBlock } from '@headset-cloud/demo/apk.ts';
import { bounds } from './bounds.ts';
import { inspectPackage } from './inspect.ts';

const some = Buffer.from('some content');
const code = { 'classes.dex': some };
const declared = { package: 'com.example.app', version: '1.0.0' };
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'inspect-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function inspect(bytes: Buffer): Promise<string | undefined> {
  const path = join(folder, 'a.apk');
  writeFileSync(path, bytes);
  const fd = openSync(path, 'r');
  try {
    return (await inspectPackage(fd, declared))?.reason;
  } finally {
    closeSync(fd);
  }
}

test('a package of the declared name and version passes', async () => {
  expect(await inspect(await makeApk())).toBeUndefined();
  expect(
    await inspect(await makeApk({ utf8: true, entries: { 'resources.arsc': Buffer.from('x') } })),
  ).toBeUndefined();
});

test.each<[string, () => Promise<Buffer>, RegExp]>([
  [
    'another package',
    () => makeApk({ package: 'com.example.other' }),
    /^Its manifest's package is com\.example\.other, not com\.example\.app as was requested\.$/,
  ],
  [
    'another version',
    () => makeApk({ versionName: '1.0.1' }),
    /^Its manifest's version is 1\.0\.1, not 1\.0\.0 as was requested\.$/,
  ],
  [
    'a split',
    () => makeApk({ splits: { split: 'config.xxhdpi' } }),
    /^It is the split config\.xxhdpi of a package\. Upload a universal APK\.$/,
  ],
  [
    'a base that requires splits',
    () => makeApk({ splits: { isSplitRequired: true } }),
    /^Its manifest requires splits, which are not delivered\. Upload a universal APK\.$/,
  ],
  [
    'a base that requires types of splits',
    () => makeApk({ splits: { requiredSplitTypes: 'base__abi,base__density' } }),
    /^Its manifest requires splits/,
  ],
  [
    'only a manifest',
    () => makeApk({ entries: { 'META-INF/a.version': Buffer.from('1') } }),
    /^It contains only AndroidManifest\.xml\.$/,
  ],
  ['no signature', () => makeApk({ signed: false }), /^It is not signed: it has neither a v1 signature/],
  [
    'a signature file without its block',
    () => makeApk({ signed: false, entries: { ...code, 'META-INF/A.SF': some, 'META-INF/B.RSA': some } }),
    /^It is not signed/,
  ],
  [
    'a signing block without a signature',
    async () => withSigningBlock(await makeApk({ signed: false }), 0x42726577),
    /^It is not signed/,
  ],
  [
    'a signing block of a wrong size',
    async () => {
      const apk = await makeApk();
      const at = apk.indexOf('APK Sig Block 42') - 8;
      apk.writeUInt32LE(apk.readUInt32LE(at) - 1, at);
      return apk;
    },
    /^It is not signed/,
  ],
  [
    'a signing block inside the last entry',
    async () => {
      const apk = await makeApk();
      const end = apk.indexOf('APK Sig Block 42') + 16;
      const size = apk.readUInt32LE(end - 24);
      const block = apk.subarray(end - size - 8, end);
      return makeApk({ signed: false, entries: { ...code, 'z.bin': block } });
    },
    /^It is not signed/,
  ],
  ['no version', () => makeApk({ versionName: null }), /names no android:versionName/],
  ['no manifest', () => makeApk({ manifest: null }), /^It has no AndroidManifest\.xml\.$/],
  [
    'a manifest in text',
    () => makeApk({ manifest: Buffer.from('<manifest/>') }),
    /not in Android’s binary form/,
  ],
  [
    'a manifest that is too large',
    () => makeApk({ manifest: Buffer.alloc(bounds.manifestBytes + 1) }),
    /larger than/,
  ],
  [
    'not a zip',
    async () => Buffer.from('MZ not a package at all, but long enough to be looked at'),
    /^It is not a whole Android package: /,
  ],
  ['one byte', async () => Buffer.from('x'), /^It is not a whole Android package: /],
  [
    'a package that is cut off',
    async () => (await makeApk()).subarray(0, 300),
    /^It is not a whole Android package: /,
  ],
  [
    'a file name that leaves the package',
    async () =>
      rename(await makeApk({ entries: { 'aa/classes.dex': Buffer.from('x') } }), 'aa/classes', '../classes'),
    /^The name of its entry \.\.\/classes\.dex leaves the package\.$/,
  ],
])('%s is rejected with the reason', async (_, make, reason) => {
  expect(await inspect(await make())).toMatch(reason);
});

test.each<[string, () => Promise<Buffer>]>([
  ...['RSA', 'DSA', 'EC'].map((kind): [string, () => Promise<Buffer>] => [
    `scheme v1, ${kind}`,
    () =>
      makeApk({
        signed: false,
        entries: { ...code, 'META-INF/CERT.SF': some, [`META-INF/CERT.${kind}`]: some },
      }),
  ]),
  ...[0x7109871a, 0xf05368c0, 0x1b93ad61].map((id): [string, () => Promise<Buffer>] => [
    `the pair ${id.toString(16)} of a signing block`,
    async () => withSigningBlock(await makeApk({ signed: false }), id),
  ]),
])('a package that is signed by %s passes', async (_, make) => {
  expect(await inspect(await make())).toBeUndefined();
});

test('a package that needs no splits passes, whatever its manifest declares about splits', async () => {
  const splits = { split: '', isSplitRequired: false, requiredSplitTypes: '' };
  expect(await inspect(await makeApk({ splits }))).toBeUndefined();
});

test('a broken entry is reported, whether stored or compressed', async () => {
  for (const name of ['data.bin', 'classes.dex']) {
    const marker = Buffer.from('the content that will be broken');
    const apk = await makeApk({ entries: { [name]: marker } });
    const start = apk.indexOf(name) + name.length;
    const at = name.endsWith('.bin') ? start + 5 : start + 8;
    apk[at] = (apk[at] as number) ^ 0xff;
    expect(await inspect(apk)).toMatch(/^Its entry .* is broken\.$|^It is not a whole Android package: /);
  }
});

// protects against files/archive-tricks
test('two manifests are rejected: readers disagree on which counts', async () => {
  const second = makeManifest({ package: 'com.evil.app', versionName: '1.0.0' });
  const apk = rename(
    await makeApk({ entries: { 'AndroidManifest.abc': second } }),
    'AndroidManifest.abc',
    'AndroidManifest.xml',
  );
  expect(await inspect(apk)).toBe('It has more than one AndroidManifest.xml.');
});

// protects against files/bomb
test('a package that would unpack to far more than its size is rejected before it is unpacked', async () => {
  const zeros = Buffer.alloc(bounds.ratioExemptBytes);
  expect(
    await inspect(
      await makeApk({ entries: { 'zeros.dex': zeros.subarray(0, bounds.ratioExemptBytes / 2) } }),
    ),
  ).toBeUndefined();
  expect(await inspect(await makeApk({ entries: { 'zeros.dex': zeros, 'more.dex': zeros } }))).toMatch(
    /^It unpacks to more than 16777216 bytes\.$/,
  );
});

// protects against files/text
test('text from a package is bounded and printable', async () => {
  const reason = await inspect(
    await makeApk({ versionName: `${'\u001b[2J\n'.repeat(10)}${'x'.repeat(500)}` }),
  );
  expect(reason).toMatch(/^[\x20-\x7e]+…, not 1\.0\.0 as was requested\.$/);
  expect(reason?.length).toBeLessThan(200);
});

test('a file that cannot be read is an error, not a rejection', async () => {
  const fd = openSync(folder, 'r');
  await expect(inspectPackage(fd, declared)).rejects.toThrow(/EISDIR/);
  closeSync(fd);
});

/** Changes a file name of the same length, in both places where a zip has it. */
function rename(apk: Buffer, from: string, to: string): Buffer {
  const text = apk.toString('latin1').replaceAll(from, to);
  return Buffer.from(text, 'latin1');
}
