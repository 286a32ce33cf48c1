import { requestedRange } from './range.ts';

const whole = { kind: 'whole' };
const unsatisfiable = { kind: 'unsatisfiable' };
const part = (start: number, end: number) => ({ kind: 'part', start, end });

test.each([
  [undefined, whole],
  ['bytes=0-', part(0, 9)],
  ['bytes=3-', part(3, 9)],
  ['bytes=9-', part(9, 9)],
  ['bytes=10-', unsatisfiable],
  ['bytes=0-0', part(0, 0)],
  ['bytes=2-5', part(2, 5)],
  ['bytes=2-99', part(2, 9)],
  ['bytes=-1', part(9, 9)],
  ['bytes=-99', part(0, 9)],
  ['bytes=-0', unsatisfiable],
  // Invalid, or more than one range: answered with the whole file, as RFC 9110 allows.
  ['bytes=-', whole],
  ['bytes=5-2', whole],
  ['bytes=0-1,3-4', whole],
  ['items=0-1', whole],
  ['bytes=a-b', whole],
])('%s of 10 bytes', (header, expected) => {
  expect(requestedRange(header, 10)).toEqual(expected);
});
