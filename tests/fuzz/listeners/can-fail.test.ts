import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { mutate } from '../../faults/inside/environment.ts';
import { listeners } from './all.ts';
import { removedSafeguards } from './can-fail.ts';

const root = resolve(import.meta.dirname, '../../..');

test.each(removedSafeguards)(
  'the mutation that removes the safeguard "$name" applies to the current source',
  (removed) => {
    const text = readFileSync(resolve(root, removed.file), 'utf8');
    expect(mutate(text, removed)).not.toBe(text);
  },
);

test('every listener has a removed safeguard that it must detect', () => {
  expect(new Set(removedSafeguards.map(({ listener }) => listener))).toEqual(
    new Set(listeners.map(({ name }) => name)),
  );
});
