import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import {
  allStatements,
  documentFile,
  problems,
  provable,
  render,
  statementProblems,
} from '../specification/document.ts';
import { type Proof, proofsOf, readProofs } from '../specification/proofs.ts';
import { statements } from '../specification/statements/statement.ts';
import { unproven } from '../specification/unproven.ts';

test('every line of the specification is proven by a test, or named with a reason', () => {
  for (const [id, reason] of Object.entries(unproven)) {
    process.stderr.write(`not proven yet: ${id}: ${reason}\n`);
    expect(reason.length).toBeGreaterThan(10);
  }
  expect(problems(provable, readProofs(), unproven)).toEqual([]);
});

test('every statement of the specification names its lines or a reason, and every line has a statement', () => {
  expect(statementProblems(allStatements)).toEqual([]);
});

test('tests/specification/README.md is current (make generate writes it)', () => {
  expect(readFileSync(documentFile, 'utf8')).toBe(render());
});

describe('the check', () => {
  const lines = ['a/1/x', 'a/1/y'].map((id) => ({ id, section: 's', text: 't' }));
  const proof = (id: string): Proof => ({ id, file: 'f', title: 't' });
  test('finds lines without a proof', () => {
    expect(problems(lines, [proof('a/1/x')], {})).toEqual(['a/1/y is proven by no test']);
  });
  test('accepts listed lines without a proof, but not with one', () => {
    expect(problems(lines, [proof('a/1/x')], { 'a/1/y': 'reason' })).toEqual([]);
    expect(problems(lines, [proof('a/1/x'), proof('a/1/y')], { 'a/1/y': 'reason' })).toEqual([
      'a/1/y is proven: take it off the list of what is not',
    ]);
  });
  test('finds ids of unknown lines', () => {
    const proofs = [proof('a/1/x'), proof('a/1/y'), proof('a/1/z')];
    expect(problems(lines, proofs, {})).toEqual(['a/1/z is no line of the specification']);
  });
});

describe('the check of statements', () => {
  const lines = ['a/1/x', 'a/1/y'].map((id) => ({ id, section: 's', text: 't' }));
  const made = (text: string, count = 2) => statements('a/1', count, text);
  test('accepts lines and reasons', () => {
    const found = made('1 one, two => a/1/x, a/1/y\n  2 three => none: an example');
    expect(found).toEqual([
      { number: 'a/1.1', text: 'one, two', lines: ['a/1/x', 'a/1/y'] },
      { number: 'a/1.2', text: 'three', lines: [], reason: 'an example' },
    ]);
    expect(statementProblems(found, lines)).toEqual([]);
  });
  test('finds unknown lines, and lines without a statement', () => {
    expect(statementProblems(made('1 one => a/1/x\n2 two => a/1/z'), lines)).toEqual([
      'a/1.2 names a/1/z',
      'a/1/y is the line of no statement',
    ]);
  });
  test.each([
    ['left out in the middle', '1 one => a/1/x\n3 three => a/1/y', 3],
    ['left out at the end', '1 one => a/1/x', 2],
    ['without a line or reason', '1 one\n2 two => a/1/x', 2],
  ])('finds a statement that is %s', (_, text, count) => {
    expect(() => made(text, count)).toThrow(`a/1: the statements are not numbered 1 to ${count}`);
  });
});

describe('proofs are read from comments', () => {
  const mark = '// proves';
  test.each([
    [`${mark} a/1/x\ntest('one', () => {});`, [['a/1/x', 'one']]],
    [
      `  ${mark} a/1/x, a/1/y\n  ${mark} a/2/z\n  // why\n  it("a 'b'", f);`,
      [
        ['a/1/x', "a 'b'"],
        ['a/1/y', "a 'b'"],
        ['a/2/z', "a 'b'"],
      ],
    ],
    [`${mark} a/1/x\ntest.each<[string, number]>([\n  ['(', 1], // (\n])('%s is', f);`, [['a/1/x', '%s is']]],
    [`${mark} a/1/x\nit.each<[string, () => A<B>]>([\n  [/[/']/, 1],\n])('%s is', f);`, [['a/1/x', '%s is']]],
    [`${mark} a/1/x\ndescribeOnStack('area', () => {`, [['a/1/x', 'area']]],
    [`${mark} a/1/x\n// protects against b/y\ntest('both', f);`, [['a/1/x', 'both']]],
    [`// protects against b/y\n${mark} a/1/x\ntest('both', f);`, [['a/1/x', 'both']]],
    [`test('none', f);`, []],
  ])('%j', (text, expected) => {
    expect(proofsOf(text, 'f').map((p) => [p.id, p.title])).toEqual(expected);
  });
  test('a comment above no test is an error', () => {
    expect(() => proofsOf(`${mark} a/1/x\nconst a = 1;`, 'f')).toThrow('no test follows');
  });
});
