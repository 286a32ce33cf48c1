import { compareMonths, monthAt, monthKey, parseZone, requireMonth, spanOf, touchedMonths } from './month.ts';

const iso = (ms: number) => new Date(ms).toISOString();
const span = (zone: string, year: number, month: number) => {
  const { fromMs, toMs } = spanOf({ year, month }, parseZone(zone));
  return [iso(fromMs), iso(toMs)];
};

test.each([
  ['UTC+9', 2026, 11, '2026-10-31T15:00:00.000Z', '2026-11-30T15:00:00.000Z'],
  ['Asia/Tokyo', 2026, 11, '2026-10-31T15:00:00.000Z', '2026-11-30T15:00:00.000Z'],
  ['UTC', 2026, 12, '2026-12-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
  ['-03:30', 2026, 1, '2026-01-01T03:30:00.000Z', '2026-02-01T03:30:00.000Z'],
  ['UTC+14', 2026, 2, '2026-01-31T10:00:00.000Z', '2026-02-28T10:00:00.000Z'],
  ['UTC+9', 9999, 12, '9999-11-30T15:00:00.000Z', '9999-12-31T15:00:00.000Z'],
  ['Europe/Berlin', 9999, 12, '9999-11-30T23:00:00.000Z', '9999-12-31T23:00:00.000Z'],
  ['UTC-12', 9999, 12, '9999-12-01T12:00:00.000Z', '+010000-01-01T12:00:00.000Z'],
  ['UTC+9', 2028, 2, '2028-01-31T15:00:00.000Z', '2028-02-29T15:00:00.000Z'],
  // The clocks go forward on 29 March and back on 25 October: those months are an hour short and long.
  ['Europe/Berlin', 2026, 3, '2026-02-28T23:00:00.000Z', '2026-03-31T22:00:00.000Z'],
  ['Europe/Berlin', 2026, 10, '2026-09-30T22:00:00.000Z', '2026-10-31T23:00:00.000Z'],
  // 1 October 2017 had no midnight in Asunción; 1 November 2015 had two in Havana.
  ['America/Asuncion', 2017, 10, '2017-10-01T04:00:00.000Z', '2017-11-01T03:00:00.000Z'],
  ['America/Havana', 2015, 11, '2015-11-01T04:00:00.000Z', '2015-12-01T05:00:00.000Z'],
])('%s: %d-%d is from %s to before %s', (zone, year, month, from, to) => {
  expect(span(zone, year, month)).toEqual([from, to]);
});

test.each(['UTC+9', 'UTC-12', 'Europe/Berlin', 'America/Havana', 'Pacific/Apia'])(
  '%s: months follow each other without a gap, and every moment is in the month that it is at',
  (name) => {
    const zone = parseZone(name);
    let before = spanOf({ year: 2022, month: 1 }, zone);
    for (let n = 1; n < 120; n++) {
      const month = { year: 2022 + Math.floor(n / 12), month: (n % 12) + 1 };
      const next = spanOf(month, zone);
      expect(next.fromMs).toBe(before.toMs);
      expect(monthAt(next.fromMs, zone)).toEqual(month);
      expect(compareMonths(monthAt(next.fromMs - 1, zone), month)).toBe(-1);
      expect(monthAt(next.toMs - 1, zone)).toEqual(month);
      // Usage that is indexed by touched months is found for the month in any time zone.
      expect(touchedMonths(next.fromMs, next.fromMs)).toContain(monthKey(month));
      expect(touchedMonths(next.toMs - 1, next.toMs)).toContain(monthKey(month));
      expect(touchedMonths(next.fromMs - 1, next.toMs + 1)).toContain(monthKey(month));
      before = next;
    }
  },
);

test('a time in the middle of a month touches that month alone', () => {
  const at = Date.UTC(2026, 10, 15);
  expect(touchedMonths(at, at + 3_600_000)).toEqual([monthKey({ year: 2026, month: 11 })]);
});

test.each(['', 'UTC+', 'UTC+15', '-13:00', '+9:60', 'UTC+9:5', 'Mars/Olympus', 'JST+9', '9'])(
  '%j is not a time zone',
  (text) => {
    expect(() => parseZone(text)).toThrow('is not a time zone such as UTC+9 (-12 to +14) or Asia/Tokyo');
  },
);

test.each([
  [2022, 1],
  [2022, 12],
  [9999, 12],
])('%d-%d is accepted', (year, month) => {
  expect(requireMonth({ year, month })).toEqual({ year, month });
});

test.each([
  [2021, 12, 'year'],
  [0, 1, 'year'],
  [10_000, 1, 'year'],
  [2022, 0, 'month'],
  [2022, 13, 'month'],
  [Number.NaN, 1, 'year'],
  [2022, 1.5, 'month'],
])('%d-%d is rejected, and the error names the parameter', (year, month, parameter) => {
  expect(() => requireMonth({ year, month })).toThrow(
    expect.objectContaining({
      code: 'invalid_argument',
      message: expect.stringMatching(new RegExp(`^${parameter} `)),
    }),
  );
});
