import { compareVersions } from '@headset-cloud/rules/version.ts';
import { versionKey } from './version-key.ts';

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

test('keys have the order of their versions', () => {
  const parts = [
    '0',
    '00',
    '1',
    '01',
    '2',
    '9',
    '10',
    '99',
    '100',
    'a',
    'A',
    'ab',
    'b',
    'rc1',
    '0a',
    '1-x',
    '',
  ];
  const versions = parts.flatMap((a) => [a, ...parts.map((b) => `${a}.${b}`), `1.${a}.0.0`, `1.0.${a}.1`]);
  for (const a of versions) {
    for (const b of versions) {
      const expected = Math.sign(compareVersions(a, b));
      if (compareText(versionKey(a), versionKey(b)) !== expected) {
        throw new Error(`${a} and ${b}: ${expected} expected`);
      }
    }
  }
});

test('numbers beyond any integer type are compared by their digits', () => {
  const [small, large] = [`1.${'9'.repeat(60)}`, `1.1${'0'.repeat(60)}`];
  expect(compareVersions(small, large)).toBe(-1);
  expect(versionKey(small) < versionKey(large)).toBe(true);
});
