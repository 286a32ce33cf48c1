import { parseNoProxy } from './no-proxy.ts';

const bypass = parseNoProxy(' storage.internal, .example.org ,10.1.0.0/16, 192.0.2.7, fd00::/8');

test.each([
  ['storage.internal', true],
  ['STORAGE.internal', true],
  ['a.storage.internal', true],
  ['otherstorage.internal', false],
  ['example.org', true],
  ['id.example.org', true],
  ['example.org.evil.example', false],
  ['10.1.2.3', true],
  ['10.2.0.1', false],
  ['::ffff:10.1.2.3', true],
  ['192.0.2.7', true],
  ['192.0.2.70', false],
  ['[fd00::1]', true],
  ['[2001:db8::1]', false],
])('%s is reached without the proxy: %s', (host, expected) => expect(bypass(host)).toBe(expected));

test('without a list there are no exceptions', () =>
  expect(parseNoProxy(undefined)('storage.internal')).toBe(false));

test.each(['10.0.0.0/33', 'a b', '*.example.org', 'https://example.org', 'example.org:443'])(
  'the part %s cannot be read, and is named',
  (part) => expect(() => parseNoProxy(`storage.internal,${part}`)).toThrow(JSON.stringify(part)),
);
