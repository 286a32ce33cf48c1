import { BatchSize } from './batch-size.ts';

test('starts small, and grows to the maximum while batches are fast', () => {
  const size = new BatchSize(500);
  const seen: number[] = [];
  for (let i = 0; i < 8; i++) {
    seen.push(size.current);
    size.adapt(size.current, 20);
  }
  expect(seen).toEqual([10, 20, 40, 80, 160, 320, 500, 500]);
});

test('shrinks to the number of events that are handled in two seconds, at least one event, and grows again', () => {
  const size = new BatchSize(500);
  size.adapt(10, 5000);
  expect(size.current).toBe(4);
  size.adapt(4, 60_000);
  expect(size.current).toBe(1);
  size.adapt(1, 10);
  expect(size.current).toBe(2);
});

test('does not change if batches take their full time, or if fewer events are available', () => {
  const size = new BatchSize(500);
  size.adapt(10, 1500);
  size.adapt(3, 1);
  expect(size.current).toBe(10);
});

test('a subscription with a small maximum keeps it', () => {
  const size = new BatchSize(5);
  size.adapt(5, 1);
  expect(size.current).toBe(5);
});
