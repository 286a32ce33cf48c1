import { enableCompileCache } from 'node:module';

// Compiling takes half the time of a short command. The cache keeps the modules that are loaded from here on for the
// next command.
enableCompileCache();
const { runHc } = await import('./program.ts');
const { standardTerminal } = await import('@headset-cloud/cli/standard-streams.ts');
const { signals } = await import('./signals.ts');

const code = await runHc(process.argv.slice(2), {
  terminal: standardTerminal(process),
  keyboard: process.stdin.isTTY ? process.stdin : undefined,
  env: process.env,
  onInterrupt: signals(process),
  main: import.meta.filename,
});
// Ends requests that the user has stopped and that still wait for their answers.
process.exit(code);
