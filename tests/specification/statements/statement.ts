/** One sentence, list entry or table row of the specification's text. */
export interface Statement {
  /** Document, section and number in the section, e.g. `api/5.12`; 0 is the text before the first section. */
  readonly number: string;
  readonly text: string;
  /** Ids of the lines that say it; empty where `reason` says why there are none. */
  readonly lines: readonly string[];
  /** Why no line says it. */
  readonly reason?: string;
}

/**
 * The statements of one section, each written as `number text => line, line` or `number text => none: reason`.
 * Throws if they are not numbered from 1 to `count`.
 */
export function statements(section: string, count: number, text: string): Statement[] {
  const found = text
    .split('\n')
    .map((row) => row.trim())
    .filter((row) => row !== '')
    .map((row): Statement & { readonly at: number } => {
      const [, number = '', said = '', to = ''] = /^(\d+) (.+) => (.+)$/.exec(row) ?? [];
      const reason = /^none: (.+)$/.exec(to)?.[1];
      const lines = reason === undefined ? to.split(', ') : [];
      return {
        at: Number(number),
        number: `${section}.${number}`,
        text: said,
        lines,
        ...(reason && { reason }),
      };
    });
  const wanted = Array.from({ length: count }, (_, i) => i + 1);
  if (found.map(({ at }) => at).join() !== wanted.join()) {
    throw new Error(`${section}: the statements are not numbered 1 to ${count}`);
  }
  return found.map(({ at: _, ...statement }) => statement);
}
