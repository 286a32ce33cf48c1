import { createRequire } from 'node:module';
import { makeManifest } from '@headset-cloud/demo/apk.ts';
import { manifestBombs } from '../testing/manifest-bombs.ts';
import { ManifestError, readManifest } from './manifest.ts';

const names = { package: 'com.example.app', versionName: '1.2.3' };
const whole = { split: '', requiresSplits: false };

// An independent reader, because our own writer and reader could share a mistake.
const require = createRequire(import.meta.url);
const OtherReader = require('@devicefarmer/adbkit-apkreader/lib/apkreader/parser/manifest.js');

test.each([false, true])(
  'package and version are read (texts in UTF-8: %p), as another reader reads them',
  (utf8) => {
    const bytes = makeManifest({ ...names, utf8 });
    expect(readManifest(bytes)).toEqual({ ...names, ...whole });
    const { package: packageName, versionName } = new OtherReader(bytes).parse();
    expect({ package: packageName, versionName }).toEqual(names);
  },
);

test.each([
  { package: `com.${'é'.repeat(200)}`, versionName: 'あ'.repeat(100), utf8: true },
  { package: `com.${'x'.repeat(40_000)}`, versionName: 'あ', utf8: false },
])('long and non-ASCII texts are read %#', ({ utf8, ...long }) => {
  expect(readManifest(makeManifest({ ...long, utf8 }))).toEqual({ ...long, ...whole });
});

test.each<[string, Buffer, RegExp]>([
  ['no version', makeManifest({ ...names, versionName: null }), /names no android:versionName/],
  ['text instead of binary', Buffer.from('<manifest package="a.b"/>'), /not in Android’s binary form/],
  ['nothing', Buffer.alloc(0), /broken/],
  ['only a head', makeManifest(names).subarray(0, 8), /no elements/],
])('%s is reported', (_, bytes, message) => {
  expect(() => readManifest(bytes)).toThrow(ManifestError);
  expect(() => readManifest(bytes)).toThrow(message);
});

// protects against files/manifest-bomb
test('a manifest that is cut at any byte, or has any byte changed, is read or rejected', () => {
  const bytes = makeManifest(names);
  const attempt = (broken: Buffer) => {
    try {
      readManifest(broken);
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
    }
  };
  for (let i = 0; i < bytes.length; i += 1) {
    attempt(bytes.subarray(0, i));
    for (const value of [0, 1, 0x7f, 0xff]) {
      const broken = Buffer.from(bytes);
      broken[i] = value;
      attempt(broken);
    }
  }
});

describe('a manifest decodes few texts, however many attributes it claims', () => {
  const original = Buffer.prototype.toString;
  afterEach(() => {
    Buffer.prototype.toString = original;
  });

  test.each(manifestBombs())('%s', (_, bytes) => {
    let decoded = 0;
    Buffer.prototype.toString = function (...args: Parameters<typeof original>) {
      decoded += 1;
      return original.apply(this, args);
    };
    try {
      readManifest(bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(ManifestError);
    }
    Buffer.prototype.toString = original;
    expect(decoded).toBeLessThanOrEqual(2);
  });
});
