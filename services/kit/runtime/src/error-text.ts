import { cut } from './characters.ts';

/** Maximum characters of an error's text. */
const maxErrorCharacters = 1000;

/** An error as it is stored and shown: its name and message, of limited length. */
export function errorText(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return cut(text, maxErrorCharacters);
}
