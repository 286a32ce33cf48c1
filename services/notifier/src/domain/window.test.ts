import { claimCount, isCrowded, windowOf, windowUnitsOf } from './window.ts';

const memory = (free: number, max = 10_000) => ({ max, free: () => free });

test('a failing destination has only enough callbacks in memory for probes', () => {
  expect(windowOf(1000, true)).toBe(1000);
  expect(windowOf(1000, false)).toBe(16);
  expect(windowOf(5, false)).toBe(5);
});

test('nothing is claimed while more than half of the window is in use, or the memory is full', () => {
  expect(claimCount(501, 1000, memory(10_000))).toBe(0);
  expect(claimCount(0, 1000, memory(0))).toBe(0);
  // More is queued than configured, as when a destination began to fail.
  expect(claimCount(0, 1000, memory(-5))).toBe(0);
  expect(claimCount(1000, 16, memory(10_000))).toBe(0);
});

test('one claim never exceeds the window or the memory, and is limited', () => {
  expect(claimCount(10, 100, memory(10_000))).toBe(90);
  expect(claimCount(0, 100, memory(3))).toBe(3);
  expect(claimCount(0, 100_000, memory(10_000))).toBe(200);
});

test('waiting callbacks free memory before they fill a quarter of the window or half of the memory', () => {
  expect(isCrowded(250, 1000, memory(10_000))).toBe(false);
  expect(isCrowded(251, 1000, memory(10_000))).toBe(true);
  expect(isCrowded(1, 1000, memory(5000))).toBe(false);
  expect(isCrowded(1, 1000, memory(4999))).toBe(true);
});

test('a large body uses several window units, and fewer of them are claimed, but at least one', () => {
  const places = (bytes: number) => windowUnitsOf({ body: new Uint8Array(bytes) });
  expect([0, 1, 8192, 8193, 262_144].map(places)).toEqual([1, 1, 1, 2, 32]);
  expect(claimCount(0, 1000, memory(10_000), 32)).toBe(31);
  expect(claimCount(0, 16, memory(10_000), 32)).toBe(1);
  expect(claimCount(0, 16, memory(0), 32)).toBe(0);
});
