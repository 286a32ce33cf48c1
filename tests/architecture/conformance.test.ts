import { readFileSync } from 'node:fs';
import { partsOf, readSections, sectionOf } from '../conformance/page.ts';
import { rules } from '../conformance/rules/all.ts';
import { renderTable, tableFile } from '../conformance/table.ts';

test('the protocol page has each sentence of the rules', () => {
  const sections = readSections();
  const missing = rules.flatMap(({ id, sentence }) =>
    partsOf(sentence)
      .filter((part) => !sectionOf(part, sections))
      .map((part) => `${id}: ${part}`),
  );
  expect(missing).toEqual([]);
});

test('RULES.md is current (else: make generate)', () => {
  expect(readFileSync(tableFile, 'utf8')).toBe(renderTable());
});
