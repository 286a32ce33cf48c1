import { cut, isLongerThan } from './characters.ts';

test.each([
  ['', 0, false],
  ['ab', 2, false],
  ['abc', 2, true],
  ['a\u{1f600}', 2, false],
  ['\u{1f600}\u{1f600}', 2, false],
  ['\u{1f600}\u{1f600}a', 2, true],
  ['\u{1f600}\u{1f600}\u{1f600}', 2, true],
])('%j has more than %d characters: %s', (text, most, is) => {
  expect(isLongerThan(text, most)).toBe(is);
});

// protects against headsets/report-values, stores/headset-content
test.each([
  ['', 3, ''],
  ['abc', 3, 'abc'],
  ['abcd', 3, 'abc'],
  ['ab\u{1f600}', 4, 'ab\u{1f600}'],
  ['ab\u{1f600}', 3, 'ab'],
  ['ab\u{1f600}d', 4, 'ab\u{1f600}'],
  ['\u{1f600}', 1, ''],
])('the text %j, cut at %d, is %j', (text, most, left) => {
  expect(cut(text, most)).toBe(left);
});
