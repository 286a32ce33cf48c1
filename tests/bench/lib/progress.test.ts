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
const turns = (ms: number, runs: number) => () => interleave(runs, { baseline: takes(ms), ours: takes(ms) });

test('prints each turn, the elapsed time, and the constant expected time of the whole run', async () => {
  const first = open();
  await first.during(plan[0] as (typeof plan)[0], turns(5000, 2));
  await first.during(plan[1] as (typeof plan)[0], takes(240_000));
  expect(lines).toEqual([
    '1 of 2, embedded: jobs: begins; 0 s',
    '1 of 2, embedded: jobs: turn 1 of 3 done; 10 s',
    '1 of 2, embedded: jobs: turn 2 of 3 done; 20 s',
    '1 of 2, embedded: jobs: turn 3 of 3 done; 30 s',
    '2 of 2, embedded: idle: begins; 30 s',
  ]);
  lines = [];
  const next = open();
  await next.during(plan[0] as (typeof plan)[0], turns(50_000, 2));
  await next.during(plan[1] as (typeof plan)[0], takes(1000));
  expect(lines).toEqual([
    '1 of 2, embedded: jobs: begins; 0 s of about 5 min',
    '1 of 2, embedded: jobs: turn 1 of 3 done; 2 min of about 5 min',
    '1 of 2, embedded: jobs: turn 2 of 3 done; 3 min of about 5 min',
    '1 of 2, embedded: jobs: turn 3 of 3 done; 5 min of about 5 min',
    '2 of 2, embedded: idle: begins; 5 min of about 5 min',
  ]);
});

test('the expected time of a new measure is the mean of the others', async () => {
  await open().during(plan[0] as (typeof plan)[0], takes(60_000));
  lines = [];
  await open().during(plan[1] as (typeof plan)[0], takes(1));
  expect(lines).toEqual(['1 of 2, embedded: idle: begins; 0 s of about 2 min']);
});

test('an unreadable file counts as missing, and the time of a failed measure is not stored', async () => {
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
  expect(lines).toEqual(['1 of 2, embedded: jobs: begins; 0 s', '2 of 2, embedded: idle: begins; 1 s']);
});
