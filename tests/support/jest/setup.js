import { writeSync } from 'node:fs';
import { registerHooks } from 'node:module';

/**
 * For jest-light-runner, which runs test files in plain Node.js: provides the runner's global functions as
 * @jest/globals.
 */
const names = [
  'afterAll',
  'afterEach',
  'beforeAll',
  'beforeEach',
  'describe',
  'expect',
  'it',
  'jest',
  'test',
];
const source = names.map((name) => `export const ${name} = globalThis.${name};`).join('\n');

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals'
      ? { url: `data:text/javascript,${encodeURIComponent(source)}`, shortCircuit: true }
      : next(specifier, context),
});

// Print an uncaught exception: it ends the process, and the runner reports only the end.
process.on('uncaughtExceptionMonitor', (error, origin) => {
  writeSync(2, `${origin}, perhaps of an earlier test file: ${error?.stack ?? error}\n`);
});
