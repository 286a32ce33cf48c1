import { readFileSync } from 'node:fs';

const rows = (/## A24\..*?\n# B\./s.exec(readFileSync('docs/rules.md', 'utf8'))?.[0] ?? '')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| time |'))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map((cells) => [cells[1] as string, cells.at(-2) as string] as const);

describe('the table of times from outside (rule A24)', () => {
  it('has rows', () => expect(rows.length).toBeGreaterThan(10));

  it.each(rows.filter(([, test]) => test !== '–'))('%s is checked by %s', (_, test) => {
    expect(readFileSync(test.replaceAll('`', ''), 'utf8')).toContain('rule A24');
  });
});
