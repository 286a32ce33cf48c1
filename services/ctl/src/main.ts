import { enableCompileCache } from 'node:module';

// Half of what a short command takes is compiling; what is loaded from here on is kept for the next one.
enableCompileCache();
const { runCtl } = await import('./program.ts');

process.exitCode = await runCtl(
  process.argv.slice(2),
  {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
  },
  process.env,
);
