import type { Readable } from 'node:stream';
import { padded, widthOf } from './width.ts';

/** The streams of the command line. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** Standard input; absent: there is none. */
  readonly input?: Readable;
  /** Characters per line of the terminal; absent: the output does not go to a terminal. */
  readonly columns?: number;
  /**
   * Resolves when all output is written. Throws OutputClosed if the reader closed the output, CliError if it failed.
   */
  flushed?(): Promise<void>;
}

/**
 * Returns the text in one line. Escapes control characters, line breaks, bidirectional marks and invisible characters
 * as JSON does (`\u001b`), so that untrusted text cannot move the cursor, add lines or hide anything.
 */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    // Escapes each half of a surrogate pair separately, as JSON requires.
    character
      .split('')
      .map((half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/**
 * A terminal that escapes all control characters except line breaks. Callers that print untrusted text without `table`
 * and `fields` escape its line breaks with `visible`. JSON output stays valid, because JSON has control characters only
 * in strings, where these escapes have the same meaning.
 */
export function guarded(terminal: Terminal): Terminal {
  const lines = (text: string) => text.split('\n').map(visible).join('\n');
  // Inherits `input` and `columns` as getters: reading `input` opens standard input, and `columns` may change.
  return Object.assign(Object.create(terminal) as Terminal, {
    out: (text: string) => terminal.out(lines(text)),
    err: (text: string) => terminal.err(lines(text)),
  });
}

/** A table's column: its head and a row's text. */
export type Column<T> = readonly [head: string, text: (row: T) => string];

/**
 * Rows under column heads, aligned; a sentence if there are no rows. Shows each row as a list of fields if a line would
 * take more than `maxWidth` columns of the terminal.
 */
export function table<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  none: string,
  maxWidth = Number.POSITIVE_INFINITY,
): string {
  if (rows.length === 0) return `${none}\n`;
  const cells = [
    columns.map(([head]) => head),
    ...rows.map((row) => columns.map(([, text]) => visible(text(row)) || '-')),
  ];
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => widthOf(line[i] ?? ''))));
  if (widths.reduce((sum, width) => sum + width + 2, -2) > maxWidth) {
    return rows
      .map((row) => fields(columns.map(([head, text]): Field => [head.toLowerCase(), text(row)])))
      .join('\n');
  }
  const lineOf = (line: readonly string[]) => line.map((cell, i) => padded(cell, widths[i] ?? 0)).join('  ');
  return cells.map((line) => `${lineOf(line).trimEnd()}\n`).join('');
}

/** A field: its name, and its text or texts. */
export type Field = readonly [name: string, text: string | readonly string[]];

/** The fields of one object, one per line; several texts of a field below each other. */
export function fields(pairs: readonly Field[]): string {
  const names = pairs.map(([name]) => visible(name));
  const width = Math.max(...names.map(widthOf));
  return pairs
    .map(([, text], i) => {
      const texts = (typeof text === 'string' ? [text] : text).map(visible);
      return `${padded(names[i] ?? '', width)}  ${texts.join(`\n${' '.repeat(width + 2)}`) || '-'}\n`;
    })
    .join('');
}
