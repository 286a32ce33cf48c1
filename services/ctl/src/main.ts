import { runCtl } from './program.ts';

process.exitCode = await runCtl(
  process.argv.slice(2),
  {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
  },
  process.env,
);
