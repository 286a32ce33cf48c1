import { InvalidArgumentError } from 'commander';
import { instant } from './options.ts';

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
  '1970-01-01',
  'now',
  '',
])('%j, which depends on the machine or is no time, is refused with the form', (text) => {
  expect(() => instant(text)).toThrow(InvalidArgumentError);
  expect(() => instant(text)).toThrow('ISO 8601 with its offset, such as 2026-11-24T10:00:00+09:00');
});
