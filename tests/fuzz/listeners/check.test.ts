import { createRandom } from '../../faults/random.ts';
import { mutatedBytes } from './bytes.ts';
import { checkCase, checkGrowth, checkListener, checkLog, checkUnchanged, mostGrowth } from './check.ts';
import { mutatedJson } from './json-text.ts';
import { encode, hello } from './link.ts';
import type { Outcome } from './listener.ts';
import { mutatedMessage } from './wire.ts';

const outcome = (more: Partial<Outcome>): Outcome => ({
  sent: Buffer.alloc(0),
  expectsAnswer: true,
  status: 400,
  kind: '400',
  ...more,
});

test.each<[string, Partial<Outcome>]>([
  ['500', { status: 500 }],
  ['503 without Retry-After', { status: 503 }],
  ['503 with an invalid Retry-After', { status: 503, retryAfter: '0' }],
  ['a missing answer', { status: undefined }],
  ['a problem that the listener reports', { status: 200, wrong: 'accepted' }],
])('a case fails by %s', (_, more) => {
  expect(checkCase(outcome(more))).toBeDefined();
});

test.each<[string, Partial<Outcome>]>([
  ['a refusal', { status: 400 }],
  ['a limit with Retry-After', { status: 503, retryAfter: '1' }],
  ['a missing answer on a broken transport', { status: undefined, expectsAnswer: false }],
])('a case passes by %s', (_, more) => {
  expect(checkCase(outcome(more))).toBeUndefined();
});

test('a listener fails if it tried too few cases, or if limits rejected more than a few', () => {
  expect(checkListener(new Map([['400', 19]]), 0)).toHaveLength(1);
  expect(checkListener(new Map([['400', 100]]), 3)).toEqual([]);
  expect(checkListener(new Map([['400', 100]]), 4)).toHaveLength(1);
});

test('growth of heap or memory beyond the bounds is reported for each process', () => {
  const before = { a: { heap: 0, resident: 0 }, b: { heap: 0, resident: 0 } };
  expect(checkGrowth(before, { a: mostGrowth, b: mostGrowth })).toEqual([]);
  expect(
    checkGrowth(before, { a: { ...mostGrowth, heap: mostGrowth.heap + 1 }, b: mostGrowth }),
  ).toHaveLength(1);
  expect(
    checkGrowth(before, { a: mostGrowth, b: { ...mostGrowth, resident: mostGrowth.resident + 1 } }),
  ).toHaveLength(1);
});

test.each([
  ['an error line', '{"level":"error"}'],
  ['a fatal line', '{"level":"fatal"}'],
  ['a line that is not JSON', 'E Failed'],
  ['a line without a level', '{"a":1}'],
  ['an unhandled rejection', '{"level":"warn","message":"unhandled rejection"}'],
])('a log with %s fails', (_, line) => {
  expect(checkLog('a', `{"level":"info"}\n${line}\n{"level":"warn"}\n`)).toEqual([`a: ${line}`]);
});

test('a change of unchangeable data is reported', () => {
  const before = { settings: { a: 1n }, transactions: [] };
  expect(checkUnchanged(before, { settings: { a: 1n }, transactions: [] })).toEqual([]);
  expect(checkUnchanged(before, { settings: { a: 1n }, transactions: [1] })).toEqual([
    'transactions changed: [] is now [1]',
  ]);
  expect(checkUnchanged(before, { settings: { a: 1n } })).toEqual([
    'transactions changed: [] is now nothing',
  ]);
});

test('a case depends only on seed, listener and number, and differs from its original', () => {
  const example = { package: 'com.example.app', launchType: 'activity', extras: { a: [1, { b: 'c' }] } };
  const message = encode(hello({ held: [{ transactionId: 1n, state: 1 }] }));
  const makers = [
    (n: number) => mutatedBytes(Buffer.from('a text of bytes'), createRandom(1, `bytes ${n}`)),
    (n: number) => mutatedJson(example, createRandom(1, `json ${n}`)),
    (n: number) => mutatedMessage(message, [7n], createRandom(1, `messages ${n}`)),
  ];
  for (const make of makers) {
    const made = Array.from({ length: 200 }, (_, n) => make(n).toString('hex'));
    expect(made).toEqual(Array.from({ length: 200 }, (_, n) => make(n).toString('hex')));
    expect(new Set(made).size).toBeGreaterThan(60);
  }
});
