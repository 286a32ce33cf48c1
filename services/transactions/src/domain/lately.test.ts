import { idBefore, latelyKept } from './lately.ts';

describe('the id before another one', () => {
  it('is the one that was created before it, not the next lower one', () => {
    expect(idBefore([7, 9, 8, 10], 8)).toBe(9);
    expect(idBefore([7, 9, 8, 10], 10)).toBe(8);
  });

  it('is none for the first of a device', () => {
    expect(idBefore([7, 8], 7)).toBe(0);
  });

  it('is the id before its first create, if the create was repeated', () => {
    expect(idBefore([7, 8, 9, 8, 10], 8)).toBe(7);
    expect(idBefore([7, 8, 9, 8, 10], 10)).toBe(8);
  });

  it('is the next lower id, if the id before it is no longer known', () => {
    const lately = Array.from({ length: latelyKept }, (_, i) => 100 + i);
    expect(idBefore(lately, 100)).toBe(99);
    expect(idBefore(lately, 50)).toBe(49);
    expect(idBefore([], 50)).toBe(49);
  });
});
