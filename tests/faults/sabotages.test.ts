import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mutate } from './inside/environment.ts';
import { judge } from './judge.ts';
import { sabotages } from './sabotages.ts';
import { goodRun } from './testing/good-run.ts';

const root = join(import.meta.dirname, '..', '..');
const safeguards = sabotages.flatMap(({ without }) => without);

describe('a safeguard that the crash test leaves out to show that it can fail', () => {
  it.each(safeguards)('$name: can be left out of the present source', ({ mutations, env }) => {
    expect([...(mutations ?? []), ...Object.keys(env ?? {})]).not.toEqual([]);
    for (const mutation of mutations ?? []) {
      const text = readFileSync(join(root, mutation.file), 'utf8');
      expect(mutate(text, mutation)).not.toBe(text);
    }
  });

  it.each(safeguards)('$name: names a check of the judge', ({ finds }) => {
    expect(judge(goodRun()).map(({ name }) => name)).toContain(finds);
  });
});
