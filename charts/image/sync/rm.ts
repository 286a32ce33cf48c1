#!/usr/local/bin/node
import { rmSync } from 'node:fs';

/** `rm -rf -- FILE…`, with which Skaffold removes deleted sources from a pod. */
const [options, end, ...files] = process.argv.slice(2);
try {
  if (options !== '-rf' || end !== '--') throw new Error('knows rm -rf -- FILE… only');
  for (const file of files) rmSync(file, { recursive: true, force: true });
} catch (error) {
  process.stderr.write(`rm: ${(error as Error).message}\n`);
  // As in tar.ts.
  if ((error as NodeJS.ErrnoException).code !== 'EROFS') process.exitCode = 1;
}
