import { type Column, table } from './output.ts';

const columns: readonly Column<{ id: string; text: string }>[] = [
  ['ID', (row) => row.id],
  ['TEXT', (row) => row.text],
];
const rows = [
  { id: 'a', text: 'short' },
  { id: 'b', text: 'rather long' },
];

test('if a table is wider than the terminal, each field is on a separate line, without truncation', () => {
  const wide = 'ID  TEXT\na   short\nb   rather long\n';
  expect(table(rows, columns, 'None.')).toBe(wide);
  expect(table(rows, columns, 'None.', 15)).toBe(wide);
  expect(table(rows, columns, 'None.', 14)).toBe('id    a\ntext  short\n\nid    b\ntext  rather long\n');
  expect(table([], columns, 'None.', 3)).toBe('None.\n');
});
