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
import { userText } from '@headset-cloud/runtime/user-text.ts';
import { CliError, usageError } from './exit-codes.ts';

/**
 * Creates a folder with mode 0700, and its missing parents. Throws the system's errors. (`recursive` is not used: with it,
 * Node never returns for a path in which no folder can be created, such as below /proc.)
 */
export function makePrivateFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // If the path is a file, a later write reports it clearly.
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || existsSync(dirname(path))) throw error;
    makePrivateFolder(dirname(path));
    makePrivateFolder(path);
  }
}

/**
 * Writes a file with mode 0600 and replaces an existing one atomically: readers see the old or the new content, never a
 * part. Creates the folders (0700). The file is durable when this returns. Throws the system's errors.
 */
export function writeSecretFile(path: string, text: string): void {
  writeAtomically(path, text, renameSync);
}

/**
 * Writes a file as `writeSecretFile` does, but never replaces one. Returns false if the file exists; the file then stays
 * unchanged.
 */
export function createSecretFile(path: string, text: string): boolean {
  try {
    writeAtomically(path, text, linkSync);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Writes the text to a temporary file, then `move` gives that file the path. So the path never has partial content. */
function writeAtomically(path: string, text: string, move: (from: string, to: string) => void): void {
  makePrivateFolder(dirname(path));
  const temporary = `${path}.${process.pid}.tmp`;
  // An earlier process with this id may have left a file with another mode.
  rmSync(temporary, { force: true });
  try {
    const file = openSync(temporary, 'wx', 0o600);
    try {
      // writeSync could write a part and return; writeFileSync writes everything or throws.
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    move(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
  const folder = openSync(dirname(path), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/**
 * The text of a file with a secret, without a byte-order mark; undefined if the file does not exist. Throws CliError with
 * the reason for a file that others may read, or that another user owns: its secret may be known. `what` names the file
 * in messages.
 */
export function readSecretFile(path: string, what: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw usageError(`${what} cannot be read: ${message}`, { cause });
  }
  try {
    // Checks the open file instead of the path, because another file may replace it at the path before it is read.
    const { mode, uid } = fstatSync(file);
    if ((mode & 0o077) !== 0) {
      throw usageError(
        `${what}, ${path}, may be read or changed by others (mode ${(mode & 0o777).toString(8).padStart(4, '0')}). Run chmod 600 ${path}; if others have accounts on this machine, have a new secret made, because they may know this one.`,
      );
    }
    const own = process.getuid?.();
    if (own !== undefined && uid !== own) {
      throw usageError(
        `${what}, ${path}, belongs to another user (id ${uid}), who may read and change it. Make one of your own.`,
      );
    }
    return userText(readFileSync(file));
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    throw usageError(`${what}, ${path}, cannot be read: ${(cause as Error).message}.`, {
      cause,
    });
  } finally {
    closeSync(file);
  }
}
