import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { userText } from '../user-text.ts';
import { CliError, cliExitCodes } from './exit-codes.ts';

/**
 * Makes a folder that only its owner can use (mode 0700), and those above it, where there is none. Throws the system's
 * errors. (With `recursive`, Node never returns for a place in which nobody can make anything, such as /proc.)
 */
export function makePrivateFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // If it is no folder, whoever writes below it is told so.
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || existsSync(dirname(path))) throw error;
    makePrivateFolder(dirname(path));
    makePrivateFolder(path);
  }
}

/**
 * Writes a file that only its owner can read (mode 0600), in place of what is there: a reader sees the file before or
 * the new one, whole. Makes its folders (0700). Durable when it returns. Throws the system's errors.
 */
export function writeSecretFile(path: string, text: string): void {
  place(path, text, renameSync);
}

/**
 * Writes a file as `writeSecretFile` does, but never over another one. Returns false if the file exists, which then
 * stays as it is.
 */
export function createSecretFile(path: string, text: string): boolean {
  try {
    place(path, text, linkSync);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Writes the text to a file of its own, and then has `move` give that file the path: a part of it never has it. */
function place(path: string, text: string, move: (from: string, to: string) => void): void {
  makePrivateFolder(dirname(path));
  const fresh = `${path}.${process.pid}.tmp`;
  // A former process with this id may have left one; its mode is not to be trusted.
  rmSync(fresh, { force: true });
  try {
    const file = openSync(fresh, 'wx', 0o600);
    try {
      // All of it, or it throws: writeSync may write a part and say so.
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    move(fresh, path);
  } finally {
    rmSync(fresh, { force: true });
  }
  const folder = openSync(dirname(path), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/**
 * The text of a file with a secret, without a byte-order mark; undefined where there is none. A file that others may read, or that another user
 * owns, is refused with the reason (CliError), since its secret must be taken for known. `what` names it in messages.
 */
export function readSecretFile(path: string, what: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new CliError(cliExitCodes.usage, `${what} cannot be read: ${message}`, { cause });
  }
  try {
    // Asked of the open file: another one may have its name a moment later.
    const { mode, uid } = fstatSync(file);
    if ((mode & 0o077) !== 0) {
      throw new CliError(
        cliExitCodes.usage,
        `${what}, ${path}, may be read or changed by others (mode ${(mode & 0o777).toString(8).padStart(4, '0')}). Run chmod 600 ${path}; if others have accounts on this machine, have a new secret made, because they may know this one.`,
      );
    }
    const own = process.getuid?.();
    if (own !== undefined && uid !== own) {
      throw new CliError(
        cliExitCodes.usage,
        `${what}, ${path}, belongs to another user (id ${uid}), who may read and change it. Make one of your own.`,
      );
    }
    return userText(readFileSync(file));
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    throw new CliError(cliExitCodes.usage, `${what}, ${path}, cannot be read: ${(cause as Error).message}.`, {
      cause,
    });
  } finally {
    closeSync(file);
  }
}
