import type { Proof } from './proofs.ts';

/** A text as it may stand in a cell of a Markdown table. */
export const cell = (text: string): string =>
  text.replaceAll('|', '\\|').replaceAll(/[<>]/g, (c) => (c === '<' ? '&lt;' : '&gt;'));

/** The tests of a row: title and file of each. */
export const testsCell = (proofs: readonly Proof[]): string =>
  proofs.map((p) => `${cell(p.title)} (\`${p.file}\`)`).join('<br>');
