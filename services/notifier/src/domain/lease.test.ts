import { leaseIsAging } from './lease.ts';

const leaseMs = 10_000;
const now = 1_700_000_000_000;
/** Whether a lease is renewed that ends so many milliseconds from now. */
const aging = (leftMs: number) => leaseIsAging(now + leftMs, now + leaseMs, leaseMs);

test('a lease is renewed in time for three more attempts to renew it', () => {
  expect(aging(leaseMs)).toBe(false);
  expect(aging(0.76 * leaseMs)).toBe(false);
  expect(aging(0.74 * leaseMs)).toBe(true);
  expect(aging(0)).toBe(true);
});

test('one that ran out, as after a pause of the process or a step forward, is renewed', () => {
  expect(aging(-3_600_000)).toBe(true);
});

test('one from before a step back is renewed: others see it run out by their clocks', () => {
  expect(aging(3_600_000)).toBe(true);
  expect(aging(2 * leaseMs)).toBe(false);
});
