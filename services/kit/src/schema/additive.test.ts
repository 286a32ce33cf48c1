import type { IndexDescription } from '../store/operations.ts';
import { stepProblems } from './additive.ts';
import type { Step } from './steps.ts';

const step = (number: number, index: IndexDescription, collection = 'things'): Step => ({
  number,
  name: 'indexes',
  indexes: { [collection]: [index] },
});
const first = step(1, { name: 'both', key: { a: 1, b: 1 } });
const second = step(2, { name: 'colour', key: { colour: 1 } });
const released = { billing: [first] };
const judged = (...steps: Step[]) => stepProblems(released, { billing: steps });

test('the released steps, and more after them, are right', () => {
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
])('%s in a released step is told, with what to do', (_, steps) => {
  expect(judged(...steps)).toEqual([
    'billing: step 1 was released and databases have it: leave it as it was, and make the change in a step of its own (2)',
  ]);
});

test('the number to take is the next free one', () => {
  const changed = step(1, { name: 'both', key: { a: 1 } });
  expect(judged(changed, second)).toEqual([expect.stringContaining('in a step of its own (3)')]);
});

test('a gap, or a number twice, is told', () => {
  expect(judged(first, { ...second, number: 3 })).toEqual(['billing: step 3 stands in place 2']);
  expect(judged(first, { ...second, number: 1 })).toEqual(['billing: step 1 stands in place 2']);
});

test('a service that is gone is told', () => {
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

test('a new unique index of a field that the last release does not write fits its collections', () => {
  const partial = { a: { $exists: true } };
  const index = { name: 'one', key: { a: 1 as const }, unique: true, partialFilterExpression: partial };
  expect(judged(first, step(2, index))).toEqual([]);
  expect(
    judged(first, step(2, { ...index, partialFilterExpression: { b: { $exists: true } } })),
  ).toHaveLength(1);
});
