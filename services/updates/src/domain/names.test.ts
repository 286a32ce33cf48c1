import { requirePackage, requireSize, requireUnreserved, requireVersion } from './names.ts';

const of = (length: number) => `com.${'a'.repeat(length - 4)}`;

test.each(['com.example.app', 'a.b', 'com.Example_1.App2', of(128)])('%s is a package', (name) => {
  expect(() => requirePackage(name)).not.toThrow();
});

test.each([
  '',
  'app',
  'com.',
  '.com.app',
  'com..app',
  'com.1app',
  'com.app-x',
  'com.app/x',
  'com.アプリ.x',
  of(129),
])('%p is not a package', (name) => {
  expect(() => requirePackage(name)).toThrow(/^package must be an Android package name/);
});

test.each(['1', '1.0.0', '9.001.0', '2.0-rc.1+build_7', 'v1', '1'.repeat(128)])(
  '%s is a version',
  (version) => {
    expect(() => requireVersion(version)).not.toThrow();
  },
);

test.each(['', '.1', '-1', '1 0', '1/0', '1@0', '１', '1\n', '1'.repeat(129)])(
  '%p is not a version',
  (version) => {
    expect(() => requireVersion(version)).toThrow(/^version must be 1 to 128/);
  },
);

test('the reserved prefix is rejected, whatever the case of its letters', () => {
  expect(() => requireUnreserved('com.vendor.app', 'com.vendor.')).toThrow(
    '/package must not start with com.vendor., which is reserved.',
  );
  expect(() => requireUnreserved('com.vendor', 'com.vendor.')).toThrow('reserved');
  expect(() => requireUnreserved('com.vendor', 'com.vendor')).toThrow('reserved');
  expect(() => requireUnreserved('com.vendors.app', 'com.vendor.')).not.toThrow();
  expect(() => requireUnreserved('jp.com.vendor.app', 'com.vendor.')).not.toThrow();
});

test('sizes are from 1 to the limit', () => {
  expect(requireSize(1n, 10, 'invalid_body')).toBe(1);
  expect(requireSize(10n, 10, 'invalid_body')).toBe(10);
  for (const size of [0n, -1n, 11n, 2n ** 63n - 1n]) {
    expect(() => requireSize(size, 10, 'invalid_body')).toThrow('/fileSize must be from 1 to 10 bytes.');
  }
});
