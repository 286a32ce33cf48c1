import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/** The result of `takePidLock`: a function that releases the lock, or the process that holds it. */
export type PidLock = { readonly release: () => void } | { readonly holder: number };

/**
 * Takes a lock for this process: a file (mode 0600) with its process id. A lock counts as free if its process has
 * ended. Throws an error of the file system if the file cannot be written. Throws an Error if the lock of an ended
 * process cannot be removed, because another process was killed while it removed the lock.
 */
export function takePidLock(path: string, isAlive: (pid: number) => boolean = isRunning): PidLock {
  const ownFile = `${path}.${process.pid}`;
  writeFileSync(ownFile, String(process.pid), { mode: 0o600 });
  try {
    for (let tries = 0; tries < 100; tries++) {
      if (linked(ownFile, path)) return { release: () => release(path) };
      const holder = holderOf(path);
      if (holder !== undefined && holder !== process.pid && isAlive(holder)) return { holder };
      freeStale(ownFile, path);
    }
    throw new Error(`The lock cannot be taken: remove ${freeing(path)} and ${path}, and try again.`);
  } finally {
    rmSync(ownFile, { force: true });
  }
}

/** The file that exists while a process removes the lock of an ended process. */
const freeing = (path: string) => `${path}.freeing`;

/** Removes the lock of a process that has ended. One process at a time removes it, so a new lock is never removed. */
function freeStale(ownFile: string, path: string): void {
  if (!linked(ownFile, freeing(path))) return;
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
