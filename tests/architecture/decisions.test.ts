import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './imports.ts';

const folder = join(root, 'docs/adr');
const read = (file: string) => readFileSync(join(folder, file), 'utf8');
const files = readdirSync(folder).filter((file) => file !== 'README.md');

/** Maximum number of characters of a decision: one page. */
const page = 5000;

/** The status of a decision, with the numbers of the decisions that replace it, as a whole or in parts. */
const status = /^(?:accepted(?:; amended by ADR \d{4}(?: and \d{4})?)?|superseded by ADR \d{4})$/;

describe('decisions', () => {
  it.each(files)('%s has its number, a status and at most one page', (file) => {
    const text = read(file);
    const [, number] = /^# ADR (\d{4}): .+\n\nStatus: .+\.\n\n/.exec(text) ?? [];
    expect(number).toBe(file.slice(0, 4));
    expect(statusOf(text)).toMatch(status);
    expect(text.length).toBeLessThanOrEqual(page);
  });

  it('the index has one row for each file, with its title and status', () => {
    const rows = read('README.md').match(/^\| \[.*$/gm);
    const expected = files.toSorted().map((file) => {
      const text = read(file);
      const [, number, title] = /^# ADR (\d{4}): (.+)/.exec(text) ?? [];
      return `| [${number}](${file}) | ${title} | ${statusOf(text)} |`;
    });
    expect(rows).toEqual(expected);
  });

  it('a status names decisions that exist and are newer', () => {
    const numbers = new Set(files.map((file) => file.slice(0, 4)));
    const wrong = files.filter((file) =>
      (statusOf(read(file)).match(/\d{4}/g) ?? []).some(
        (number) => !numbers.has(number) || number <= file.slice(0, 4),
      ),
    );
    expect(wrong).toEqual([]);
  });

  it('missing numbers are explained in the index', () => {
    const numbers = files.map((file) => Number(file.slice(0, 4)));
    const missing = Array.from({ length: Math.max(...numbers) }, (_, i) => i + 1).filter(
      (number) => !numbers.includes(number),
    );
    const [explanation = ''] = /^.* are missing\./m.exec(read('README.md')) ?? [];
    const explained = [...explanation.matchAll(/(\d{4})(?: to (\d{4}))?/g)].flatMap(([, from, to = from]) =>
      Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => Number(from) + i),
    );
    expect(explained).toEqual(missing);
  });
});

function statusOf(text: string): string {
  return /^Status: (.+)\.$/m.exec(text)?.[1] ?? '';
}
