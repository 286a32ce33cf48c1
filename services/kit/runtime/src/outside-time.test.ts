import { type Implausible, plausibleTime } from './outside-time.ts';

const arrivedAtMs = 2000;

// rule A24
test.each<[string, number, number | undefined, number, Implausible[]]>([
  ['a time between the bounds stays', 1500, 1000, 1500, []],
  ['so do the bounds', 1000, 1000, 1000, []],
  ['and the arrival', 2000, 1000, 2000, []],
  ['a time before the bound is replaced', 999, 1000, 2000, ['past']],
  ['without a bound, a time before 1970', -1, undefined, 2000, ['past']],
  ['a time after the arrival is replaced', 2001, 1000, 2000, ['future']],
  ['an absent time is the arrival, and not counted', 0, 1000, 2000, []],
])('%s', (_, atMs, notBeforeMs, expected, counted) => {
  const replaced: Implausible[] = [];
  expect(plausibleTime(atMs, { notBeforeMs, arrivedAtMs }, (why) => replaced.push(why))).toBe(expected);
  expect(replaced).toEqual(counted);
});
