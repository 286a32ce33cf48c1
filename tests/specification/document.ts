import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { apiLines } from './lines/api.ts';
import { callbackLines } from './lines/callbacks.ts';
import { extensionLines } from './lines/extensions.ts';
import type { Line } from './lines/line.ts';
import { siteLines } from './lines/site.ts';
import { type Proof, readProofs } from './proofs.ts';
import { apiStatements } from './statements/api.ts';
import { callbackStatements } from './statements/callbacks.ts';
import type { Statement } from './statements/statement.ts';
import { cell, testsCell } from './table.ts';
import { unproven } from './unproven.ts';

/** Lines of the specification. */
const specified: readonly Line[] = [...apiLines, ...callbackLines, ...siteLines];

/** Lines that must be proven. */
export const provable: readonly Line[] = [...specified, ...extensionLines];

/** Every statement of the specification's two documents. */
export const allStatements: readonly Statement[] = [...apiStatements, ...callbackStatements];

export const documentFile = resolve(import.meta.dirname, '../../docs/specification.md');

/** What is wrong between lines, proofs and the list of what is not proven; empty when nothing is. */
export function problems(
  lines: readonly Line[],
  proofs: readonly Proof[],
  open: Readonly<Record<string, string>>,
): string[] {
  const ids = lines.map((l) => l.id);
  const proven = new Set(proofs.map((p) => p.id));
  return [
    ...ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => `${id} is listed twice`),
    ...ids.filter((id) => !proven.has(id) && !open[id]).map((id) => `${id} is proven by no test`),
    ...Object.keys(open)
      .filter((id) => proven.has(id))
      .map((id) => `${id} is proven: take it off the list of what is not`),
    ...[...proven, ...Object.keys(open)]
      .filter((id) => !ids.includes(id))
      .map((id) => `${id} is no line of the specification`),
  ];
}

/** Mismatches between the specification's statements and its lines. */
export function statementProblems(
  statements: readonly Statement[],
  lines: readonly Line[] = specified,
): string[] {
  const ids = new Set(lines.map((l) => l.id));
  const said = new Set(statements.flatMap((s) => s.lines));
  return [
    ...statements.flatMap((s) =>
      s.lines.filter((id) => !ids.has(id)).map((id) => `${s.number} names ${id || 'no line'}`),
    ),
    ...[...ids].filter((id) => !said.has(id)).map((id) => `${id} is the line of no statement`),
  ];
}

/** docs/specification.md. */
export function render(): string {
  const proofs = Map.groupBy(readProofs(), (p) => p.id);
  const sections = Map.groupBy(provable, (l) => sectionOf(l));
  const parts = [...sections].map(([title, lines]) => {
    const rows = lines.map((l) => `| \`${l.id}\` | ${cell(l.text)} | ${proofCell(l, proofs.get(l.id))} |`);
    return `## ${title}\n\n| line | promise | proven by |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `${head}\n${parts.join('\n')}`;
}

const head = `# The specification and its proofs

Generated from the comments \`// proves …\` above tests (\`tests/specification\`); do not edit. Write it anew with \`make generate\`.
A line that no test proves fails \`make check\`, unless \`tests/specification/unproven.ts\` names it with a reason.
The specification's text has ${allStatements.length} statements; \`tests/specification/statements\` numbers them and names the lines of each, or why it has none.
`;

const titles = { api: 'API', cb: 'Callbacks', site: 'Site', ext: 'Extensions' };

function sectionOf({ id, section }: Line): string {
  const [document, number] = id.split('/') as [keyof typeof titles, string];
  if (document === 'site') return section;
  const place = document === 'ext' ? titles.ext : `${titles[document]} ${number}`;
  return `${place}: ${section}`;
}

function proofCell({ id }: Line, proofs: readonly Proof[] | undefined): string {
  if (proofs) return testsCell(proofs);
  return `**not yet**: ${cell(unproven[id] ?? 'no test')}`;
}

if (process.argv[1] === import.meta.filename) writeFileSync(documentFile, render());
