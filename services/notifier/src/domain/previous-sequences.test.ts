import type { Delivery } from './delivery.ts';
import { PreviousSequences } from './previous-sequences.ts';

const of = (orderKey: string, sequence: number, order: Delivery['order'] = 'tried') =>
  ({ orderKey, sequence, order }) as Delivery;

test('the previous delivery is known while the partition is read without a gap', () => {
  const previousSequences = new PreviousSequences();
  expect(previousSequences.before('3:10', of('d-1', 5))).toBeNull();
  expect(previousSequences.before('3:11', of('d-2', 7))).toBeNull();
  // Another partition has its own offsets. Events without this order still have an offset.
  expect(previousSequences.before('4:90', of('d-3', 1))).toBeNull();
  expect(previousSequences.before('3:12', of('t-1', 1, 'ended'))).toBeNull();
  expect(previousSequences.before('3:13', of('d-1', 9))).toBe(5);
  expect(previousSequences.before('4:91', of('d-3', 2))).toBe(1);
  expect(previousSequences.before('3:14', of('d-1', 12))).toBe(9);
});

test.each(['3:12', '3:10', '3:9'])(
  'after a gap or a repeat (%s) the previous delivery is not known',
  (position) => {
    const previousSequences = new PreviousSequences();
    previousSequences.before('3:10', of('d-1', 5));
    expect(previousSequences.before(position, of('d-1', 9))).toBeNull();
    const next = `3:${Number(position.slice(2)) + 1}`;
    expect(previousSequences.before(next, of('d-1', 12))).toBe(9);
  },
);

test('a repeated event does not hide a later one', () => {
  const previousSequences = new PreviousSequences();
  previousSequences.before('3:10', of('d-1', 5));
  previousSequences.before('3:11', of('d-1', 9));
  previousSequences.before('3:12', of('d-1', 5));
  expect(previousSequences.before('3:13', of('d-1', 12))).toBe(9);
});

test('the number of remembered deliveries is limited; a forgotten delivery is not known', () => {
  const previousSequences = new PreviousSequences();
  let offset = 0;
  previousSequences.before(`3:${offset++}`, of('first', 1));
  for (let i = 0; i < 50_000; i++) previousSequences.before(`3:${offset++}`, of(`d-${i}`, 1));
  expect(previousSequences.before(`3:${offset}`, of('first', 2))).toBeNull();
});
