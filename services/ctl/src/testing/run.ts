import { type Given, record } from '@headset-cloud/cli/testing/recorder.ts';
import { runCtl } from '../program.ts';

/** Runs ctl with words, or with a line that is split at spaces. Returns its exit code and output. */
export function run(args: string | readonly string[], env: Record<string, string>, given?: Given) {
  const words = typeof args === 'string' ? args.split(' ') : args;
  return record((terminal) => runCtl(words, { terminal, env, main: 'ctl' }), given);
}
