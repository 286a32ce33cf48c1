import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mutate } from './inside/environment.ts';
import { mutationRuns } from './mutation-runs.ts';
import { goodRun } from './testing/good-run.ts';
import { verify } from './verify.ts';

const root = join(import.meta.dirname, '..', '..');
const safeguards = mutationRuns.flatMap(({ removed }) => removed);

describe('a safeguard that a run of the crash test removes', () => {
  it.each(safeguards)('$name: can be removed from the current source', ({ mutations, env }) => {
    expect([...(mutations ?? []), ...Object.keys(env ?? {})]).not.toEqual([]);
    for (const mutation of mutations ?? []) {
      const text = readFileSync(join(root, mutation.file), 'utf8');
      expect(mutate(text, mutation)).not.toBe(text);
    }
  });

  it.each(safeguards)('$name: names an existing check', ({ finds }) => {
    expect(verify(goodRun()).map(({ name }) => name)).toContain(finds);
  });
});
