import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { userBytes, userText } from '@headset-cloud/runtime/user-text.ts';
import { CliError, OutputClosed, refusedError, usageError } from './exit-codes.ts';
import type { Terminal } from './output.ts';

/** The name of a file that means standard input, or standard output. */
export const standard = '-';

/** The terminal of a process. */
export function standardTerminal(of: Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'>): Terminal {
  let failure: Error | undefined;
  const fail = (error: Error) => {
    failure ??= error;
  };
  of.stdout.on('error', fail);
  // If standard error fails, no message can be shown.
  of.stderr.on('error', () => {});
  return {
    out: (text) => of.stdout.write(text),
    err: (text) => of.stderr.write(text),
    get input() {
      return of.stdin;
    },
    get columns() {
      // 0 for a terminal of unknown size.
      return (of.stdout.isTTY && of.stdout.columns) || undefined;
    },
    async flushed() {
      await new Promise<void>((resolve) => {
        of.stdout.write('', (error) => {
          if (error) fail(error);
          resolve();
        });
      });
      if (!failure) return;
      const { code, message } = failure as NodeJS.ErrnoException;
      if (code === 'EPIPE') throw new OutputClosed(failure);
      throw refusedError(`Not everything could be written to standard output (${code ?? message}).`, {
        cause: failure,
      });
    },
  };
}

/** Files that a command reads; `-` is standard input. `what` names the file in messages. */
export interface Files {
  /** The whole text, without a byte-order mark. Throws CliError, also for UTF-16. */
  text(path: string, what: string): Promise<string>;
  /** The same as bytes. */
  bytes(path: string, what: string): Promise<Buffer>;
  /** The content as a stream, with the system's errors. Throws CliError. */
  content(path: string, what: string): Readable;
}

export function createFiles(terminal: Terminal): Files {
  /** The file that standard input has been read as; standard input can be read only once. */
  let taken: { readonly what: string; bytes?: Promise<Buffer> } | undefined;
  const take = (what: string) => {
    if (taken) {
      throw usageError(`Standard input cannot be both ${taken.what} and ${what}.`);
    }
    if (!terminal.input) throw usageError('There is no standard input.');
    taken = { what };
    return { taken, input: terminal.input };
  };
  const unreadable = (what: string, reason: string, cause?: unknown) =>
    usageError(`${what} cannot be read: ${reason}`, { cause });

  async function inputBytes(what: string): Promise<Buffer> {
    // A command reads its token file for every call to the server, so the bytes are kept.
    if (taken?.what === what && taken.bytes) return taken.bytes;
    const { taken: now, input } = take(what);
    now.bytes = buffer(input);
    const content = await now.bytes;
    if (userText(content).trim() === '') {
      // Otherwise an empty input would be accepted as an empty list or an empty secret.
      throw unreadable(what, 'standard input is empty. kubectl exec passes it on with -i only.');
    }
    return content;
  }

  async function bytes(path: string, what: string): Promise<Buffer> {
    try {
      return userBytes(await (path === standard ? inputBytes(what) : readFile(path)));
    } catch (error) {
      throw error instanceof CliError ? error : unreadable(what, (error as Error).message, error);
    }
  }

  return {
    bytes,
    text: async (path, what) => (await bytes(path, what)).toString('utf8'),
    content: (path, what) => (path === standard ? take(what).input : createReadStream(path)),
  };
}
