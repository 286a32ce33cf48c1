import { join } from 'node:path';
import { type Given, record } from '@headset-cloud/cli/testing/recorder.ts';
import { runHc } from '../program.ts';
import type { Surroundings } from '../session.ts';

/** Runs hc with words, or with a line that is split at spaces, in this process. */
export function run(
  args: string | readonly string[],
  env: Readonly<Record<string, string>>,
  more: Given & Partial<Pick<Surroundings, 'keyboard' | 'onInterrupt' | 'time'>> = {},
) {
  const { keyboard, onInterrupt = () => () => {}, time } = more;
  const words = typeof args === 'string' ? args.split(' ') : args;
  return record(
    (terminal) =>
      runHc(words, {
        ...{ terminal, keyboard, onInterrupt },
        env: { HOME: '/nonexistent', ...env },
        main: join(import.meta.dirname, '../main.ts'),
        pollMs: 20,
        ...(time && { time }),
      }),
    more,
  );
}
