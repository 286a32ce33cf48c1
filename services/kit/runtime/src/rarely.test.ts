import { rarely } from './rarely.ts';

test('work runs at once, then once per interval; after a failure it is repeated', async () => {
  let nowMs = 5;
  let done = 0;
  let fails = false;
  const turn = rarely({ now: () => 0, monotonicNow: () => nowMs }, 100, async () => {
    if (fails) throw new Error('seeded');
    done += 1;
  });
  await turn();
  await turn();
  nowMs += 99;
  await turn();
  expect(done).toBe(1);
  nowMs += 1;
  fails = true;
  await expect(turn()).rejects.toThrow('seeded');
  fails = false;
  await turn();
  expect(done).toBe(2);
});
