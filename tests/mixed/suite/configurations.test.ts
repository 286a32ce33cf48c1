import { parts } from '../world.ts';
import { pairedConfigurations, singleConfigurations } from './configurations.ts';

test.each([
  ['paired', pairedConfigurations()],
  ['single', singleConfigurations()],
])(
  'the %s configurations combine each part of the release with each other part of the current version',
  (_, configurations) => {
    for (const old of parts) {
      for (const young of parts.filter((part) => part !== old)) {
        expect(configurations.some((of) => of.includes(old) && !of.includes(young))).toBe(true);
      }
    }
  },
);

test('the single configurations have each part in both roles', () => {
  expect(
    singleConfigurations()
      .map((of) => of.length)
      .sort(),
  ).toEqual([...Array(9).fill(1), ...Array(9).fill(8)]);
});
