import { compareVersions, isOlder } from './version.ts';

test.each([
  ['2.3.1', '2.3.1', 0],
  ['2.3.1', '2.3.10', -1],
  ['9.001.0', '9.1', 0],
  ['10.0', '9.999', 1],
  ['1', '1.0.0', 0],
  ['1.0', '1.0-beta', -1],
  ['18446744073709551617', '18446744073709551616', 1],
])('%s against %s: %d, and the reverse the other way round', (a, b, order) => {
  expect(compareVersions(a, b)).toBe(order);
  expect(compareVersions(b, a)).toBe(order === 0 ? 0 : -order);
  expect(isOlder(a, b)).toBe(order < 0);
});
