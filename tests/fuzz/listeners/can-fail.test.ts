import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { mutate } from '../../faults/inside/environment.ts';
import { listeners } from './all.ts';
import { sabotages } from './can-fail.ts';

const root = resolve(import.meta.dirname, '../../..');

test.each(sabotages)('the safeguard against "$name" can be left out of the source as it is', (sabotage) => {
  const text = readFileSync(resolve(root, sabotage.file), 'utf8');
  expect(mutate(text, sabotage)).not.toBe(text);
});

test('every listener has a safeguard that it must find missing', () => {
  expect(new Set(sabotages.map(({ listener }) => listener))).toEqual(
    new Set(listeners.map(({ name }) => name)),
  );
});
