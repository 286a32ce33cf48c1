import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pagePath, partsOf, readSections, type Section, sectionOf } from './page.ts';
import type { Rule } from './rule.ts';
import { rules } from './rules/all.ts';

export const tableFile = join(import.meta.dirname, 'RULES.md');

/** Returns the text of RULES.md: all rules with the quoted sentences of the page. */
export function renderTable(): string {
  const sections = readSections();
  const rows = rules.map((rule) => row(rule, sections));
  return `# Rules of the conformance kit

${rules.length} rules. Written by \`make generate\` from the rules themselves (\`rules/\`): do not edit. Each rule tests the quoted
sentences of the [protocol page](../../${pagePath}); \`…\` joins separate sentences. The last column has the duration
of a long wait that the page prescribes.

| rule | sentence | section of the page | wait |
| ---- | -------- | ------------------- | ---- |
${rows.join('\n')}
`;
}

function row({ id, sentence, seconds }: Rule, sections: readonly Section[]): string {
  const found = partsOf(sentence).flatMap((part) => sectionOf(part, sections) ?? []);
  const links = [...new Set(found)].map(({ title, anchor }) => `[${title}](../../${pagePath}#${anchor})`);
  const wait = seconds === undefined ? '' : `${seconds} s`;
  return `| \`${id}\` | ${sentence.replaceAll('|', '\\|').replaceAll('<', '\\<')} | ${links.join(', ')} | ${wait} |`;
}

if (import.meta.main) writeFileSync(tableFile, renderTable());
