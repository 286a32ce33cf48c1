import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Proof, readProofs } from '../specification/proofs.ts';
import { cell, testsCell } from '../specification/table.ts';
import { callbackDoors } from './threats/callbacks.ts';
import { fileDoors } from './threats/files.ts';
import { hcDoor } from './threats/hc.ts';
import { headsetDoor } from './threats/headsets.ts';
import { insideDoors } from './threats/inside.ts';
import { restDoor } from './threats/rest.ts';
import { siteDoors } from './threats/site.ts';
import type { Door } from './threats/threat.ts';

/** Every door of the threat model (SECURITY.md). */
export const doors: readonly Door[] = [
  restDoor,
  headsetDoor,
  ...fileDoors,
  ...callbackDoors,
  ...insideDoors,
  hcDoor,
  ...siteDoors,
];

export const documentFile = resolve(import.meta.dirname, '../../docs/security.md');

/** What is wrong between threats and tests; empty when nothing is. No threat may be without a test. */
export function problems(all: readonly Door[], proofs: readonly Proof[]): string[] {
  const ids = all.flatMap(({ threats }) => threats.map((t) => t.id));
  const shown = new Set(proofs.map((p) => p.id));
  return [
    ...ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => `${id} is listed twice`),
    ...ids.filter((id) => !shown.has(id)).map((id) => `${id}: no test shows that it is withstood`),
    ...[...shown].filter((id) => !ids.includes(id)).map((id) => `${id} is no threat of the table`),
  ];
}

/** docs/security.md. Throws when a threat has no test, or a test names an unknown threat. */
export function render(): string {
  const proofs = readProofs('withstands');
  const wrong = problems(doors, proofs);
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  const byId = Map.groupBy(proofs, (p) => p.id);
  const parts = doors.map(({ title, reach, threats }) => {
    const rows = threats.map(
      ({ id, attack, guard }) =>
        `| \`${id}\` | ${cell(attack)} | ${cell(guard)} | ${testsCell(byId.get(id) ?? [])} |`,
    );
    return `## ${title}\n\nReached by: ${reach}.\n\n| threat | attack | what keeps it out | shown by |\n|---|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `${head}\n${parts.join('\n')}`;
}

const head = `# Attacks and what keeps them out

Generated from the threats in \`tests/security/threats\` and the comments \`// withstands …\` above tests; do not edit. Write it anew with \`make generate\`.
A threat that no test shows to be withstood fails \`make check\`. Who is trusted with what, and what is outside the model: [SECURITY.md](../SECURITY.md).
`;

if (process.argv[1] === import.meta.filename) writeFileSync(documentFile, render());
