#!/usr/local/bin/node
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readTar } from '../tar.ts';

/**
 * `tar xmf - -C FOLDER`, with which Skaffold copies changed sources into a pod: unpacks standard input. Files are
 * written in place, because `node --watch` watches the loaded files, not their names.
 */
const options = process.argv.slice(2);
const folder = options[options.indexOf('-C') + 1];
try {
  if (!/^-?x[a-z]*f$/.test(options[0] ?? '') || options[1] !== '-' || !options.includes('-C') || !folder)
    throw new Error(`unpacks standard input only: tar xmf - -C FOLDER, not ${options.join(' ')}`);
  for (const { path, type, data } of readTar(readFileSync(0))) {
    if (type === 'directory') mkdirSync(join(folder, path), { recursive: true });
    if (type !== 'file') continue;
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), data);
  }
} catch (error) {
  process.stderr.write(`tar: ${(error as Error).message}\n`);
  // Other pods of the same image (jobs, operators) have a read-only root: nothing to do.
  if ((error as NodeJS.ErrnoException).code !== 'EROFS') process.exitCode = 2;
}
