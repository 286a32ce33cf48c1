import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pagePath, partsOf, readSections, type Section, sectionOf } from './page.ts';
import type { Rule } from './rule.ts';
import { rules } from './rules/all.ts';

export const tableFile = join(import.meta.dirname, 'RULES.md');

/** RULES.md: all rules with the page's sentences that they judge. */
export function renderTable(): string {
  const sections = readSections();
  const rows = rules.map((rule) => row(rule, sections));
  return `# Rules of the conformance kit

${rules.length} rules. Written by \`make generate\` from the rules themselves (\`rules/\`): do not edit. A rule judges the sentences
of the [protocol page](../../${pagePath}) that it quotes; \`…\` joins sentences that are apart there. Where a rule
takes long because the page prescribes a wait, the wait is given.

| rule | judges | section of the page | wait |
| ---- | ------ | ------------------- | ---- |
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
