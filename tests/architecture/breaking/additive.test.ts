import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { Step } from '@headset-cloud/store/schema/steps.ts';
import { stepProblems } from './additive.ts';

const step = (number: number, index: IndexDescription, collection = 'things'): Step => ({
  number,
  name: 'indexes',
  indexes: { [collection]: [index] },
});
const first = step(1, { name: 'both', key: { a: 1, b: 1 } });
const second = step(2, { name: 'colour', key: { colour: 1 } });
const released = { billing: [first] };
const judged = (...steps: Step[]) => stepProblems(released, { billing: steps });

test('the released steps, followed by new steps, are valid', () => {
  expect(judged(first)).toEqual([]);
  expect(judged(first, second)).toEqual([]);
  expect(stepProblems(released, { billing: [first], notifier: [first] })).toEqual([]);
});

test.each<[string, Step[]]>([
  ['another field', [step(1, { name: 'both', key: { a: 1, c: 1 } })]],
  ['another order of fields', [step(1, { name: 'both', key: { b: 1, a: 1 } })]],
  ['another name', [{ ...first, name: 'others' }]],
  ['one more index', [{ ...first, indexes: { ...first.indexes, more: [{ key: { a: 1 } }] } }]],
  ['none', []],
])('reports %s in a released step, with the fix', (_, steps) => {
  expect(judged(...steps)).toEqual([
    'billing: step 1 was released and databases have it: do not change it, and add a new step (2) with the change',
  ]);
});

test('the suggested number is the next free one', () => {
  const changed = step(1, { name: 'both', key: { a: 1 } });
  expect(judged(changed, second)).toEqual([expect.stringContaining('a new step (3)')]);
});

test('reports a gap or a repeated number', () => {
  expect(judged(first, { ...second, number: 3 })).toEqual(['billing: step 3 is at position 2']);
  expect(judged(first, { ...second, number: 1 })).toEqual(['billing: step 1 is at position 2']);
});

test('reports a removed service', () => {
  expect(stepProblems(released, {})).toHaveLength(1);
});

test.each<[string, IndexDescription]>([
  ['unique', { name: 'one', key: { a: 1 }, unique: true }],
  ['expiring', { name: 'one', key: { a: 1 }, expireAfterSeconds: 0 }],
])('a new %s index fits a new collection, not one that the last release writes', (_, index) => {
  expect(judged(first, step(2, index, 'news'))).toEqual([]);
  expect(judged(first, step(2, index))).toEqual([
    'billing: step 2 makes things.one, which refuses or deletes what the last release writes',
  ]);
});

test('accepts a new unique index of a field that the last release does not write', () => {
  const partial = { a: { $exists: true } };
  const index = { name: 'one', key: { a: 1 as const }, unique: true, partialFilterExpression: partial };
  expect(judged(first, step(2, index))).toEqual([]);
  expect(
    judged(first, step(2, { ...index, partialFilterExpression: { b: { $exists: true } } })),
  ).toHaveLength(1);
});
