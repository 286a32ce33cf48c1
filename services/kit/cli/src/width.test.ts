import { type Column, fields, table } from './output.ts';
import { padded, widthOf } from './width.ts';

test.each([
  ['', 0],
  ['abc', 3],
  ['日本語', 6],
  ['ひらがなカタカナ', 16],
  ['「東京」、ー・々', 16],
  ['Ａ１！', 6],
  ['ｶﾀｶﾅ', 4],
  ['ﾊﾞ', 2],
  ['が', 2],
  ['か\u3099', 2],
  ['한국', 4],
  ['𠮷', 2],
  ['é', 1],
  ['e\u0301', 1],
  ['🎧', 2],
  ['👍🏽', 2],
  ['🇯🇵', 2],
  ['→ …', 3],
  ['1\u20e3', 1],
])('%j takes %d columns of a terminal', (text, columns) => {
  expect(widthOf(text)).toBe(columns);
  expect(padded(text, columns + 2)).toBe(`${text}  `);
  expect(padded(text, 0)).toBe(text);
});

test('Japanese texts do not shift the columns of a table, nor the texts of fields', () => {
  const columns: readonly Column<readonly string[]>[] = [
    ['NAME', ([name = '']) => name],
    ['ID', ([, id = '']) => id],
  ];
  const rows = [
    ['東京本社', 'a'],
    ['Osaka', 'b'],
  ];
  expect(table(rows, columns, '')).toBe('NAME      ID\n東京本社  a\nOsaka     b\n');
  expect(table(rows, columns, '', 11)).toBe('name  東京本社\nid    a\n\nname  Osaka\nid    b\n');
  expect(
    fields([
      ['名前', 'a'],
      ['id', 'b'],
    ]),
  ).toBe('名前  a\nid    b\n');
});
