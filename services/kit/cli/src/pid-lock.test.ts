import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { takePidLock } from './pid-lock.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pid-lock-'));
  path = join(folder, 'a.lock');
});
afterEach(() => rmSync(folder, { recursive: true }));

const take = () => {
  const lock = takePidLock(path);
  if ('holder' in lock) throw new Error(`held by ${lock.holder}`);
  return lock;
};
const endedPid = () => String(spawnSync('true').pid);

it('a lock is a file with the process id, readable by its owner only, and is removed on release', () => {
  const { release } = take();
  expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual([String(process.pid), 0o600]);
  expect(readdirSync(folder)).toEqual(['a.lock']);
  release();
  expect(readdirSync(folder)).toEqual([]);
});

it('the lock of a running process is held; the lock of an ended process and a damaged lock are free', () => {
  writeFileSync(path, String(process.ppid));
  expect(takePidLock(path)).toEqual({ holder: process.ppid });
  expect(readFileSync(path, 'utf8')).toBe(String(process.ppid));
  for (const stale of [endedPid(), '', 'nonsense']) {
    writeFileSync(path, stale);
    take().release();
  }
});

it('a release does not remove the lock of another process', () => {
  const { release } = take();
  writeFileSync(path, String(process.ppid));
  release();
  expect(readFileSync(path, 'utf8')).toBe(String(process.ppid));
});

it('after a process was killed while it removed a lock, the error names the file to remove', () => {
  writeFileSync(path, endedPid());
  writeFileSync(`${path}.freeing`, endedPid());
  expect(take).toThrow(`remove ${path}.freeing`);
});

it('a lock that another process takes between the check and the removal of a stale lock is kept', () => {
  const module = new URL('./pid-lock.ts', import.meta.url).href;
  const program = `
    const { takePidLock } = await import(${JSON.stringify(module)});
    takePidLock(process.argv[1]);
    process.stdin.resume();
  `;
  const stale = endedPid();
  writeFileSync(path, stale);
  let other: ChildProcess | undefined;
  try {
    const lock = takePidLock(path, (pid) => {
      other ??= spawn(process.execPath, ['--input-type=module', '-e', program, path]);
      while (!existsSync(path) || [stale, ''].includes(readFileSync(path, 'utf8'))) pause();
      return pid !== Number(stale);
    });
    expect(lock).toEqual({ holder: other?.pid });
    expect(readFileSync(path, 'utf8')).toBe(String(other?.pid));
  } finally {
    other?.kill('SIGKILL');
  }
});

/** Lets other processes run, and blocks the event loop. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
}
