import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Seed } from './environment.ts';

/**
 * Loaded into a process of the release before the product's code. It removes a part that an older version does not
 * have. The product contains no code for this.
 */
const seed = JSON.parse(process.env['MIXED_SEED'] ?? '{}') as Seed & { root: string };

if (seed.rpc) {
  const require = createRequire(join(seed.root, 'services/kit/package.json'));
  const { Server } = require('@grpc/grpc-js') as typeof import('@grpc/grpc-js');
  const register = Server.prototype.register;
  let known = false;
  // Callers of an RPC that is not registered get UNIMPLEMENTED.
  Server.prototype.register = function (this: typeof Server.prototype, ...args: Parameters<typeof register>) {
    if (args[0] !== seed.rpc) return register.apply(this, args);
    known = true;
    return true;
  } as typeof register;
  process.once('exit', () => {
    if (!known) process.stderr.write(`unknown RPC ${seed.rpc}\n`);
  });
}

if (seed.value) {
  const { file, schema, number } = seed.value;
  const generated = await import(pathToFileURL(join(seed.root, 'proto/gen', file)).href);
  const known = generated[schema].value as Record<number, unknown>;
  if (!known[number]) throw new Error(`${schema} of ${file} has no value ${number}`);
  delete known[number];
}
