import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Files of docs/operations, the manual for operators: paths from the root of the repository. */
export const manualFiles: readonly string[] = readdirSync(join(root, 'docs/operations'), {
  recursive: true,
  encoding: 'utf8',
})
  .filter((file) => file.endsWith('.md'))
  .map((file) => join('docs/operations', file))
  .sort();

/** All pages of the manual, as one text. */
export const manual = manualFiles.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
