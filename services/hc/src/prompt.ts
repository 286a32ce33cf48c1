import type { ReadStream } from 'node:tty';
import { CliError, exitCodes, usageError } from '@headset-cloud/cli/exit-codes.ts';

/** A terminal's input. */
export type Keyboard = Pick<ReadStream, 'setRawMode' | 'on' | 'off' | 'resume' | 'pause'>;

/** Asks for a line. The input of a secret is not shown. Throws CliError on Ctrl-C, and on Ctrl-D at the beginning. */
export function ask(
  keyboard: Keyboard,
  out: (text: string) => void,
  question: string,
  isSecret: boolean,
): Promise<string> {
  // Before the question: a secret that is typed at once must not be shown.
  keyboard.setRawMode(true);
  out(question);
  return new Promise((resolve, reject) => {
    let line = '';
    const end = () => {
      keyboard.setRawMode(false);
      keyboard.off('data', typed);
      keyboard.pause();
      out('\n');
    };
    const typed = (data: Buffer) => {
      for (const key of data.toString('utf8')) {
        if (key === '\r' || key === '\n') {
          end();
          return resolve(line);
        }
        if (key === '\u0003' || (key === '\u0004' && line === '')) {
          end();
          return reject(new CliError(exitCodes.interrupted, 'Nothing was stored.'));
        }
        if (key === '\u007f' || key === '\b') {
          if (line !== '' && !isSecret) out('\b \b');
          line = [...line].slice(0, -1).join('');
        } else if (key >= ' ') {
          line += key;
          if (!isSecret) out(key);
        }
      }
    };
    keyboard.on('data', typed);
    keyboard.resume();
  });
}

/** `value`, or the answer to a question; throws CliError if there is no terminal. */
export async function orAsked(
  value: string | undefined,
  { keyboard, out }: { readonly keyboard: Keyboard | undefined; out(text: string): void },
  { question, option }: { readonly question: string; readonly option: string },
): Promise<string> {
  if (value) return value;
  const answer = keyboard && (await ask(keyboard, out, `${question}: `, false)).trim();
  if (answer) return answer;
  throw usageError(`Give ${option}.`);
}
