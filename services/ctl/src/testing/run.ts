import { runCtl } from '../program.ts';

/** Runs ctl with words, or with a line of words without spaces in them; answers its exit code and what it printed. */
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
