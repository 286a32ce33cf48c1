import { readSignedUrl, readUploadPath } from './upload.ts';

const prefix = 'app/356938035000000/upload_files/';
const owner = { applicationId: 'app', deviceId: '356938035000000' };

test.each(['a', 'a/b/c.jpg', '写真/一.jpg', 'a..b', '...', '.hidden', 'a b', '%2e%2e', 'a?b#c'])(
  'the path to %s names application and device',
  (rest) => {
    expect(readUploadPath(prefix + rest)).toEqual(owner);
  },
);

test.each([
  '',
  prefix,
  `${prefix}/a`,
  `${prefix}a/`,
  `${prefix}a//b`,
  `${prefix}..`,
  `${prefix}../a`,
  `${prefix}a/../b`,
  `${prefix}a/..`,
  `${prefix}.`,
  `${prefix}a/./b`,
  `${prefix}a\\b`,
  `${prefix}a\n`,
  `${prefix}a\u0000b`,
  `${prefix}a\u007f`,
  `${prefix}a\u0085`,
  `/${prefix}a`,
  'app/356938035000000/upload_files',
  'app/356938035000000/uploads/a',
  '/356938035000000/upload_files/a',
  'app//upload_files/a',
  '../356938035000000/upload_files/a',
  'app/../upload_files/a',
])('%j is not a path of an upload', (file) => {
  expect(readUploadPath(file)).toBeUndefined();
});

test('a path has at most 1024 bytes, counted in UTF-8', () => {
  const left = 1024 - prefix.length;
  expect(readUploadPath(prefix + 'x'.repeat(left))).toEqual(owner);
  expect(readUploadPath(prefix + 'x'.repeat(left + 1))).toBeUndefined();
  const wide = prefix + 'あ'.repeat(330);
  expect(readUploadPath(`${wide}x`)).toEqual(owner);
  expect(readUploadPath(`${wide}xx`)).toBeUndefined();
});

test.each(['http://a/', 'HTTPS://a.example:8443/b?c=d&e=%20'])('the address %s is accepted', (url) => {
  expect(readSignedUrl(Buffer.from(JSON.stringify({ url, more: 1 })))).toBe(url);
});

// protects against callbacks/scheme
test.each([
  'https://',
  'https:a',
  'https://a\n',
  'https://[',
  ' https://a/',
  'https://a/\0',
  'https://a/\x1b[2J',
  'https://a/\x7f',
])('%j is not an address', (url) => {
  expect(readSignedUrl(Buffer.from(JSON.stringify({ url })))).toBeUndefined();
});
