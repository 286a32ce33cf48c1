import { idBefore, recentIdsKept } from './recent-ids.ts';

describe('the id before a given id', () => {
  it('is the id that was created before, not the next lower id', () => {
    expect(idBefore([7, 9, 8, 10], 8)).toBe(9);
    expect(idBefore([7, 9, 8, 10], 10)).toBe(8);
  });

  it('is 0 for the first id of a device', () => {
    expect(idBefore([7, 8], 7)).toBe(0);
  });

  it('is the id before its first create, if the create was repeated', () => {
    expect(idBefore([7, 8, 9, 8, 10], 8)).toBe(7);
    expect(idBefore([7, 8, 9, 8, 10], 10)).toBe(8);
  });

  it('is the next lower id, if the id before it is no longer known', () => {
    const recentIds = Array.from({ length: recentIdsKept }, (_, i) => 100 + i);
    expect(idBefore(recentIds, 100)).toBe(99);
    expect(idBefore(recentIds, 50)).toBe(49);
    expect(idBefore([], 50)).toBe(49);
  });
});
