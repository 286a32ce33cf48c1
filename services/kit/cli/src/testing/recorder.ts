import { Readable } from 'node:stream';
import type { Terminal } from '../output.ts';

/** Standard input and terminal width of a command line. */
export interface Given {
  readonly input?: string | Readable;
  readonly columns?: number;
  /** Called with the whole output so far, whenever something is printed. */
  readonly onOut?: (out: string) => void;
}

/** Runs a command line with a terminal that records the output. */
export async function record(
  run: (terminal: Terminal) => Promise<number>,
  { input, columns, onOut }: Given = {},
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  let out = '';
  let err = '';
  const code = await run({
    out: (text) => {
      out += text;
      onOut?.(out);
    },
    err: (text) => {
      err += text;
    },
    ...(columns !== undefined && { columns }),
    ...(input !== undefined && {
      input: typeof input === 'string' ? Readable.from([Buffer.from(input)]) : input,
    }),
  });
  return { code, out, err };
}
