import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { interleave } from './figures.ts';
import { createProgress } from './progress.ts';

let folder: string;
let file: string;
let clock: number;
let lines: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bench-progress-'));
  file = join(folder, 'times', 'of.json');
  clock = 0;
  lines = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const plan = ['jobs', 'idle'].map((name) => ({ key: `embedded ${name}`, name: `embedded: ${name}` }));
const open = () =>
  createProgress(
    plan,
    file,
    (line) => lines.push(line),
    () => clock,
  );
const takes = (ms: number) => async () => {
  clock += ms;
};
const turns = (ms: number, runs: number) => () => interleave(runs, { floor: takes(ms), ours: takes(ms) });

test('tells each turn, and what remains by the turns and by the last run', async () => {
  const first = open();
  await first.during(plan[0] as (typeof plan)[0], turns(5000, 2));
  await first.during(plan[1] as (typeof plan)[0], takes(240_000));
  expect(lines).toEqual([
    '1 of 2, embedded: jobs: begins',
    '1 of 2, embedded: jobs: turn 1 of 3 done',
    '1 of 2, embedded: jobs: turn 2 of 3 done',
    '1 of 2, embedded: jobs: turn 3 of 3 done',
    '2 of 2, embedded: idle: begins; about 30 s left in all',
  ]);
  lines = [];
  const next = open();
  await next.during(plan[0] as (typeof plan)[0], turns(10_000, 2));
  expect(lines).toEqual([
    '1 of 2, embedded: jobs: begins; about 5 min left in all',
    '1 of 2, embedded: jobs: turn 1 of 3 done; about 5 min left in all',
    '1 of 2, embedded: jobs: turn 2 of 3 done; about 4 min left in all',
    '1 of 2, embedded: jobs: turn 3 of 3 done; about 4 min left in all',
  ]);
});

test('a file that cannot be read is like none, and a measure that fails is not remembered', async () => {
  const broken = join(folder, 'broken.json');
  writeFileSync(broken, '{"embedded jobs": "soon"');
  file = broken;
  const progress = open();
  await expect(
    progress.during(plan[0] as (typeof plan)[0], async () => {
      clock += 1000;
      throw new Error('no store');
    }),
  ).rejects.toThrow('no store');
  await progress.during(plan[1] as (typeof plan)[0], async () => {});
  expect(lines).toEqual(['1 of 2, embedded: jobs: begins', '2 of 2, embedded: idle: begins']);
});
