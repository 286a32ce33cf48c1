import { BatchSize } from './batch-size.ts';

test('grows to the most while batches are quick, and begins small', () => {
  const size = new BatchSize(500);
  const seen: number[] = [];
  for (let i = 0; i < 6; i++) {
    seen.push(size.now);
    size.took(size.now, 20);
  }
  expect(seen).toEqual([50, 100, 200, 400, 500, 500]);
});

test('shrinks to what is done in two seconds, to one event at last, and grows again', () => {
  const size = new BatchSize(500);
  size.took(50, 5000);
  expect(size.now).toBe(20);
  size.took(20, 60_000);
  expect(size.now).toBe(1);
  size.took(1, 10);
  expect(size.now).toBe(2);
});

test('stays where batches take as long as they may, or are smaller because there is no more', () => {
  const size = new BatchSize(500);
  size.took(50, 1500);
  size.took(3, 1);
  expect(size.now).toBe(50);
});

test('a subscription that takes few at once is left that', () => {
  const size = new BatchSize(10);
  size.took(10, 1);
  expect(size.now).toBe(10);
});
