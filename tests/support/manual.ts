import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Paths of the operators' manual (docs/operations), from the root of the repository. */
export const manualFiles: readonly string[] = readdirSync(join(root, 'docs/operations'), {
  recursive: true,
  encoding: 'utf8',
})
  .filter((file) => file.endsWith('.md'))
  .map((file) => join('docs/operations', file))
  .sort();

/** Text of all pages of the manual. */
export const manual = manualFiles.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
