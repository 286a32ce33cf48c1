import { claimCount, isCrowded, placesOf, windowOf } from './window.ts';

const memory = (room: number, max = 10_000) => ({ max, room: () => room });

test('a destination that takes nothing has only enough in memory to be probed with', () => {
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

test('one claim never overfills the window or the memory, and is bounded', () => {
  expect(claimCount(10, 100, memory(10_000))).toBe(90);
  expect(claimCount(0, 100, memory(3))).toBe(3);
  expect(claimCount(0, 100_000, memory(10_000))).toBe(200);
});

test('what waits for others makes room before it fills a quarter of the window or half of the memory', () => {
  expect(isCrowded(250, 1000, memory(10_000))).toBe(false);
  expect(isCrowded(251, 1000, memory(10_000))).toBe(true);
  expect(isCrowded(1, 1000, memory(5000))).toBe(false);
  expect(isCrowded(1, 1000, memory(4999))).toBe(true);
});

test('a large body takes as many places as it has portions, and fewer such are claimed, but never none', () => {
  const places = (bytes: number) => placesOf({ body: new Uint8Array(bytes) });
  expect([0, 1, 8192, 8193, 262_144].map(places)).toEqual([1, 1, 1, 2, 32]);
  expect(claimCount(0, 1000, memory(10_000), 32)).toBe(31);
  expect(claimCount(0, 16, memory(10_000), 32)).toBe(1);
  expect(claimCount(0, 16, memory(0), 32)).toBe(0);
});
