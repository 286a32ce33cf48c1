import { resolve } from 'node:path';
import { makePackage } from './make.ts';

/** `make hc-package`: OUT is the output folder of the archive. */
try {
  const path = await makePackage(resolve(process.env['OUT'] || 'dist'));
  process.stdout.write(`${path}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
