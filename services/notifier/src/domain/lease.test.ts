import { needsRenewal } from './lease.ts';

const leaseMs = 10_000;
const now = 1_700_000_000_000;
/** Whether a lease that ends after this many milliseconds is renewed. */
const aging = (leftMs: number) => needsRenewal(now + leftMs, now + leaseMs, leaseMs);

test('a lease is renewed early enough for three more attempts', () => {
  expect(aging(leaseMs)).toBe(false);
  expect(aging(0.76 * leaseMs)).toBe(false);
  expect(aging(0.74 * leaseMs)).toBe(true);
  expect(aging(0)).toBe(true);
});

test('an expired lease, for example after a pause of the process or a clock step forward, is renewed', () => {
  expect(aging(-3_600_000)).toBe(true);
});

test('a lease from before a clock step back is renewed, because it expires by other instances’ clocks', () => {
  expect(aging(3_600_000)).toBe(true);
  expect(aging(2 * leaseMs)).toBe(false);
});
