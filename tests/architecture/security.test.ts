import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { documentFile, listeners, problems, render } from '../security/document.ts';
import { listener } from '../security/threats/threat.ts';
import { readProofs } from '../specification/proofs.ts';

test('every threat of the table has a test, and no test names an unknown threat', () => {
  expect(problems(listeners, readProofs('protects against'))).toEqual([]);
});

test('tests/security/README.md is current (make generate writes it)', () => {
  expect(readFileSync(documentFile, 'utf8')).toBe(render());
});

describe('the check', () => {
  const one = (text: string) => [listener('a', 'A', 'nobody', text)];
  const proof = { id: 'a/x', file: 'f', title: 't' };
  test('finds a threat without a test', () => {
    expect(problems(one('x: steals | a lock\ny: breaks | a wall'), [proof])).toEqual([
      'a/y: no test shows that it is withstood',
    ]);
  });
  test('finds tests of threats that are not in the table, and duplicate threats', () => {
    expect(problems(one('x: a | b\nx: a | b'), [proof, { ...proof, id: 'a/z' }])).toEqual([
      'a/x is listed twice',
      'a/z is no threat of the table',
    ]);
  });
  test('a threat without a guard is an error', () => {
    expect(() => one('x: steals')).toThrow("a: not 'name: attack | guard': 'x: steals'");
  });
});
