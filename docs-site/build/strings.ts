import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ContentError } from './front-matter.ts';
import { loadModule } from './renderer.ts';

const use = /(?<![\w.'"/])(ja|apiWords)((?:\.\w+)+)/g;

/** Throws if src uses a string that src/strings does not have. A bundler would show nothing instead. */
export async function checkStrings(root: string): Promise<void> {
  const { ja } = await loadModule<{ ja: unknown }>(root, 'src/strings/ja.ts');
  const { apiWords } = await loadModule<{ apiWords: unknown }>(root, 'src/strings/api.ts');
  const strings: Readonly<Record<string, unknown>> = { ja, apiWords };
  const folder = join(root, 'src');
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!/\.tsx?$/.test(file)) continue;
    for (const [index, line] of readFileSync(join(folder, file), 'utf8').split('\n').entries()) {
      for (const [whole, name = '', path = ''] of line.matchAll(use)) {
        const value = path
          .slice(1)
          .split('.')
          .reduce<unknown>((at, key) => Object(at)[key], strings[name]);
        if (value === undefined || value === '')
          throw new ContentError(`src/${file}`, index + 1, `the string ${whole} is missing in src/strings`);
      }
    }
  }
}
