import { userBytes, userText } from './user-text.ts';

const text = '{"a": "日本 🎧"}\r\n';

test('text files may have a byte-order mark', () => {
  expect(userText(Buffer.from(text))).toBe(text);
  expect(userText(Buffer.from(`\uFEFF${text}`))).toBe(text);
  expect(userBytes(Buffer.from(`\uFEFF${text}`))).toEqual(Buffer.from(text));
  expect(['', 'a', '\uFEFF'].map((short) => userText(Buffer.from(short)))).toEqual(['', 'a', '']);
});

test.each([
  ['with a mark', Buffer.from(`\uFEFF${text}`, 'utf16le')],
  ['without a mark', Buffer.from(text, 'utf16le')],
  ['with the high byte first', Buffer.from(`\uFEFF${text}`, 'utf16le').swap16()],
  ['with the high byte first, without a mark', Buffer.from(text, 'utf16le').swap16()],
])('UTF-16 %s is named', (_, content) => {
  expect(() => userText(content)).toThrow('it is UTF-16. Save it as UTF-8');
});
