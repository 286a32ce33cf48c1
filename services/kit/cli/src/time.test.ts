import { ago } from '@headset-cloud/runtime/testing/ago.ts';
import { InvalidArgumentError } from 'commander';
import { duration, instant } from './time.ts';

test.each([
  ['2026-11-24T10:00:00Z', '2026-11-24T10:00:00.000Z'],
  ['2026-11-24t10:00:00.25z', '2026-11-24T10:00:00.250Z'],
  ['2026-11-24T10:00+09:00', '2026-11-24T01:00:00.000Z'],
  ['2026-11-24T10:00:00-03:30', '2026-11-24T13:30:00.000Z'],
  ['2026-11-24', '2026-11-24T00:00:00.000Z'],
])('%s is a time', (text, meant) => {
  expect(new Date(instant(text)).toISOString()).toBe(meant);
});

test.each([
  '2026-11-24T10:00:00',
  '2026-11-24 10:00:00Z',
  '2026-11-24 10:00',
  '2026-13-01',
  '2026-02-31',
  '2026-02-31T00:00:00Z',
  '1970-01-01',
  'now',
  '2w',
  '1234567h',
  '',
])('%j, which depends on the machine or is no time, is refused with the form', (text) => {
  expect(() => instant(text)).toThrow(InvalidArgumentError);
  expect(() => instant(text)).toThrow('ISO 8601 with its offset, such as 2026-11-24T10:00:00+09:00');
});

test.each([
  ['90s', 90_000],
  ['30m', 1_800_000],
  ['2h', 7_200_000],
  ['1d', 86_400_000],
])('%s is a duration, and a time before now', (text, ms) => {
  expect(duration(text)).toBe(ms);
  const earliestMs = ago(ms);
  expect(instant(text)).toBeGreaterThanOrEqual(earliestMs);
  expect(instant(text)).toBeLessThanOrEqual(ago(ms));
  expect(() => duration('2026-11-24')).toThrow('It is not a duration such as 90s, 15m, 2h or 1d.');
});
