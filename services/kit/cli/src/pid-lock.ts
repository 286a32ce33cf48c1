import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/** The result of `takePidLock`: a function that releases the lock, or the process that holds it. */
export type PidLock = { readonly release: () => void } | { readonly holder: number };

/**
 * Takes a lock for this process: a file (mode 0600) with its process id. The lock of a process that has ended is
 * free. Throws an error of the file system if the file cannot be written, and an Error if the lock cannot be freed
 * because a process was killed at that moment.
 */
export function takePidLock(path: string, isAlive: (pid: number) => boolean = isRunning): PidLock {
  const own = `${path}.${process.pid}`;
  writeFileSync(own, String(process.pid), { mode: 0o600 });
  try {
    for (let tries = 0; tries < 100; tries++) {
      if (linked(own, path)) return { release: () => release(path) };
      const holder = holderOf(path);
      if (holder !== undefined && holder !== process.pid && isAlive(holder)) return { holder };
      freeStale(own, path);
    }
    throw new Error(`The lock cannot be taken: remove ${freeing(path)} and ${path}, and try again.`);
  } finally {
    rmSync(own, { force: true });
  }
}

const freeing = (path: string) => `${path}.freeing`;

/** Removes the lock of a process that has ended. One process at a time removes it, so a new lock is never removed. */
function freeStale(own: string, path: string): void {
  if (!linked(own, freeing(path))) return;
  try {
    const holder = holderOf(path);
    if (holder === undefined || holder === process.pid || !isRunning(holder)) rmSync(path, { force: true });
  } finally {
    rmSync(freeing(path), { force: true });
  }
}

function release(path: string): void {
  if (holderOf(path) === process.pid) rmSync(path, { force: true });
}

/** Creates a hard link to the file; false if the name exists. Other processes never see the link without content. */
function linked(file: string, name: string): boolean {
  try {
    linkSync(file, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function holderOf(path: string): number | undefined {
  try {
    const pid = Number(readFileSync(path, 'utf8'));
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** True if the process runs, under any user. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
