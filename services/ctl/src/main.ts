import { enableCompileCache } from 'node:module';

// Compiling takes half the time of a short command. The cache keeps the modules that are loaded from here on for the
// next command.
enableCompileCache();
const { runCtl } = await import('./program.ts');
const { standardTerminal } = await import('@headset-cloud/cli/standard-streams.ts');

process.exitCode = await runCtl(process.argv.slice(2), {
  terminal: standardTerminal(process),
  env: process.env,
  main: import.meta.filename,
});
