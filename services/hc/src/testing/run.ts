import { join } from 'node:path';
import { Readable } from 'node:stream';
import { runHc } from '../program.ts';
import type { Surroundings } from '../session.ts';

/** Input and output of a run of hc in this process. */
export interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs hc with words, or with a line that is split at spaces. */
export async function run(
  args: string | readonly string[],
  env: Readonly<Record<string, string>>,
  more: {
    readonly input?: string;
    readonly columns?: number;
    readonly keyboard?: Surroundings['keyboard'];
    readonly onInterrupt?: Surroundings['onInterrupt'];
    readonly time?: Surroundings['time'];
    /** Called with the whole output so far, whenever something is printed. */
    readonly onOut?: (out: string) => void;
  } = {},
): Promise<Run> {
  let out = '';
  let err = '';
  const code = await runHc(typeof args === 'string' ? args.split(' ') : args, {
    terminal: {
      out: (text) => {
        out += text;
        more.onOut?.(out);
      },
      err: (text) => {
        err += text;
      },
      ...(more.columns !== undefined && { columns: more.columns }),
      ...(more.input !== undefined && { input: Readable.from([Buffer.from(more.input)]) }),
    },
    keyboard: more.keyboard,
    env: { HOME: '/nonexistent', ...env },
    onInterrupt: more.onInterrupt ?? (() => () => {}),
    main: join(import.meta.dirname, '../main.ts'),
    pollMs: 20,
    ...(more.time && { time: more.time }),
  });
  return { code, out, err };
}
