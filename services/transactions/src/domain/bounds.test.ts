import { clampToUnit, happenedAt } from './bounds.ts';

// protects against headsets/report-values, stores/headset-content
describe('content from headsets is bounded', () => {
  it.each([
    [0.5, 0.5],
    [-0.0001, 0],
    [1.0001, 1],
    [Number.NaN, 0],
    [Number.NEGATIVE_INFINITY, 0],
  ])('the share %d is %d', (said, held) => {
    expect(clampToUnit(said)).toBe(held);
  });

  const day = 86_400_000;
  const now = 1_767_225_600_000;
  it.each([
    ['in the past as it is', now - day, now - day],
    ['now', now, now],
    ['in the future at its arrival', now + 1, now],
    ['unknown at its arrival', 0, now],
    ['long ago as it is', 1, 1],
    ['negative at its arrival', -1, now],
  ])('a time %s', (_, occurred, held) => {
    expect(happenedAt(occurred, now)).toBe(held);
  });
});
