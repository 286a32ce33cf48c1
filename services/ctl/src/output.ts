import type { Readable } from 'node:stream';
import { type DescMessage, type MessageShape, toJson } from '@bufbuild/protobuf';

/** The streams of the command line. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** Standard input; absent: there is none. */
  readonly input?: Readable;
  /** Resolves when all output is written. Throws CtlError when its reader is gone. */
  flushed?(): Promise<void>;
}

/** A table's column: its head and a row's text. */
export type Column<T> = readonly [head: string, text: (row: T) => string];

/** Rows under heads, columns aligned; a sentence when there is none. */
export function table<T>(rows: readonly T[], columns: readonly Column<T>[], none: string): string {
  if (rows.length === 0) return `${none}\n`;
  const cells = [
    columns.map(([head]) => head),
    ...rows.map((row) => columns.map(([, text]) => text(row) || '-')),
  ];
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => line[i]?.length ?? 0)));
  return cells
    .map(
      (line) =>
        `${line
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** The fields of one object, one per line. */
export function fields(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, text]) => `${name.padEnd(width)}  ${text || '-'}\n`).join('');
}

/** An answer for programs: protobuf's JSON, with all fields, and 64-bit numbers as strings. */
export function json<S extends DescMessage>(schema: S, message: MessageShape<S>): string {
  return `${JSON.stringify(toJson(schema, message, { alwaysEmitImplicit: true }), null, 2)}\n`;
}

/** Milliseconds since 1970 as RFC 3339; empty for 0 (none). */
export function time(ms: bigint): string {
  return ms === 0n ? '' : new Date(Number(ms)).toISOString();
}
