import { BatchSize } from './batch-size.ts';

test('starts small, and grows to the maximum while batches are fast', () => {
  const size = new BatchSize(500);
  const seen: number[] = [];
  for (let i = 0; i < 8; i++) {
    seen.push(size.now);
    size.took(size.now, 20);
  }
  expect(seen).toEqual([10, 20, 40, 80, 160, 320, 500, 500]);
});

test('shrinks to the number of events that are handled in two seconds, at least one event, and grows again', () => {
  const size = new BatchSize(500);
  size.took(10, 5000);
  expect(size.now).toBe(4);
  size.took(4, 60_000);
  expect(size.now).toBe(1);
  size.took(1, 10);
  expect(size.now).toBe(2);
});

test('does not change if batches take their full time, or if fewer events are available', () => {
  const size = new BatchSize(500);
  size.took(10, 1500);
  size.took(3, 1);
  expect(size.now).toBe(10);
});

test('a subscription with a small maximum keeps it', () => {
  const size = new BatchSize(5);
  size.took(5, 1);
  expect(size.now).toBe(5);
});
