import { runCtl } from '../program.ts';

/** Runs ctl with words, or with a line that is split at spaces. Returns its exit code and output. */
export async function run(args: string | readonly string[], env: Record<string, string>) {
  let out = '';
  let err = '';
  const terminal = {
    out: (text: string) => {
      out += text;
    },
    err: (text: string) => {
      err += text;
    },
  };
  const code = await runCtl(typeof args === 'string' ? args.split(' ') : [...args], terminal, env);
  return { code, out, err };
}
