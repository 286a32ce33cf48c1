import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { maxRemembered, PositionFile } from './position.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hc-'));
  path = join(folder, 'listen/a.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));

const start = { position: { cursor: 'c0', skipBeforeMs: 7 }, wantedSinceMs: 5 };

async function open(again = false, begin = start) {
  const opened = await PositionFile.open(path, again, async () => begin);
  if (!opened) throw new Error('not opened');
  return opened;
}

/** Opens the file again without closing it, as after a kill. */
async function reopened() {
  rmSync(`${path}.lock`, { force: true });
  return open(false, { position: { cursor: 'wrong', skipBeforeMs: 0 }, wantedSinceMs: 0 });
}

test('answered events and the position are known after a kill', async () => {
  const { file, isNew } = await open();
  expect([isNew, file.position]).toEqual([true, start.position]);
  file.answered('a');
  file.answered('b');
  const second = await reopened();
  expect(second.isNew).toBe(false);
  expect([second.file.has('a'), second.file.has('b'), second.file.has('c')]).toEqual([true, true, false]);
  expect([second.file.position, second.file.wantedSinceMs]).toEqual([start.position, 5]);
  second.file.moveTo({ cursor: 'c1', skipBeforeMs: 0 });
  second.file.answered('c');
  const third = (await reopened()).file;
  expect([third.position, third.has('a'), third.has('c')]).toEqual([
    { cursor: 'c1', skipBeforeMs: 0 },
    true,
    true,
  ]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  third.close();
});

test('an incomplete last line after a kill is ignored, and does not damage the next line', async () => {
  (await open()).file.answered('a');
  appendFileSync(path, '{"id":"ha');
  const { file } = await reopened();
  file.answered('b');
  const again = (await reopened()).file;
  expect([again.has('a'), again.has('b'), again.has('ha')]).toEqual([true, true, false]);
  again.close();
});

test('a damaged file is not read as an empty file', async () => {
  (await open()).file.close();
  writeFileSync(path, `${readFileSync(path, 'utf8')}nonsense\n{"id":"b"}\n`);
  await expect(open()).rejects.toThrow(
    /is damaged in line 3\. Choose a start: --since oldest, --since 2h or --since now/,
  );
  writeFileSync(path, '');
  await expect(open()).rejects.toThrow(/is damaged/);
  const again = await open(true);
  expect([again.isNew, again.file.position]).toEqual([true, start.position]);
  again.file.close();
});

test('the size of the file is limited; the newest events are kept', async () => {
  const { file } = await open();
  for (let i = 0; i < 4 * maxRemembered; i++) file.answered(`id-${i}`);
  expect(readFileSync(path, 'utf8').split('\n').length).toBeLessThan(3 * maxRemembered + 10);
  const { file: again } = await reopened();
  expect(again.remembered).toBe(maxRemembered);
  expect([again.has(`id-${4 * maxRemembered - 1}`), again.has(`id-${3 * maxRemembered - 1}`)]).toEqual([
    true,
    false,
  ]);
  again.close();
});

test('one process at a time holds the lock; the lock of a killed process is free', async () => {
  (await open()).file.close();
  // A running process, and one that has ended.
  writeFileSync(`${path}.lock`, String(process.ppid));
  await expect(open()).rejects.toThrow(new RegExp(`Another hc listen \\(process ${process.ppid}\\)`));
  writeFileSync(`${path}.lock`, String(spawnSync('true').pid));
  const { file } = await open();
  expect(readFileSync(`${path}.lock`, 'utf8')).toBe(String(process.pid));
  file.close();
});

test('a folder without write access is reported with the next step', async () => {
  path = join(folder, 'file/listen/a.jsonl');
  writeFileSync(join(folder, 'file'), '');
  await expect(open()).rejects.toThrow(
    /^The position in the feed cannot be stored in .*a\.jsonl: ENOTDIR.*\. Set XDG_STATE_HOME to use another folder\.$/,
  );
});
