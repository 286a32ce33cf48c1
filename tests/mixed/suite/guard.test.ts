import { guarded } from './guard.ts';

test('a test that the earlier version does not have is skipped, also in a table', () => {
  const added: string[] = [];
  const adds = (how: string) =>
    Object.assign((title: string) => added.push(`${how} ${title}`), {
      each: (table: readonly unknown[]) => (title: string) => added.push(`${how} ${table.length} × ${title}`),
    });
  const it = guarded(
    Object.assign(adds('run'), { skip: adds('skip') }) as unknown as jest.It,
    "it('it\\'s known', …) it.each(…)('%s is known', …)",
  );
  it("it's known", () => {});
  it('is new', () => {});
  it.each([1, 2])('%s is known', () => {});
  it.each([1])('%s is new', () => {});
  expect(added).toEqual(["run it's known", 'skip is new', 'run 2 × %s is known', 'skip 1 × %s is new']);
});
