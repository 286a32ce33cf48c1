/** How much of an answer is told; bytes. */
const toldBytes = 1024;
/** More than is told, so that a secret at the cut is seen whole; bytes. */
export const readBytes = 4096;
/** Values that are shorter say nothing. */
const leastSecret = 8;
const secretHeaders = /signature|notification-key|authorization/i;

/** The beginning of an answer. */
export interface Beginning {
  readonly answer: string;
  /** There was more. */
  readonly answerCut: boolean;
}

/**
 * Reads the beginning of an answer as `toldOf` tells it: what came before the answer broke off, or before `passed`
 * rejected.
 */
export async function beginning(
  body: AsyncIterable<Buffer>,
  secrets: readonly string[],
  passed: Promise<never>,
): Promise<Beginning> {
  const parts: Buffer[] = [];
  let bytes = 0;
  const reading = (async () => {
    for await (const part of body) {
      parts.push(part.subarray(0, readBytes - bytes));
      bytes += part.length;
      if (bytes >= readBytes) return;
    }
  })();
  await Promise.race([reading, passed]).catch(() => {});
  return toldOf(Buffer.concat(parts), secrets);
}

/**
 * What is told of an answer's first `readBytes`: at most 1 KiB, as text, with all secrets masked, since a receiver may
 * answer with what it was sent or knows, and what is told is read by others. Pure.
 */
export function toldOf(bytes: Buffer, secrets: readonly string[]): Beginning {
  const shown = masked(bytes.toString('latin1'), secrets);
  const told = Buffer.from(shown, 'latin1').subarray(0, toldBytes);
  const answerCut = bytes.length > toldBytes;
  // A character that the cut leaves incomplete is left out.
  return { answer: new TextDecoder().decode(told, { stream: answerCut }), answerCut };
}

/** Signatures and credentials in the headers of a request. */
export function secretsIn(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers)
    .filter(([name]) => secretHeaders.test(name))
    .flatMap(([, value]) => [value, ...value.split(/[ ,]/)]);
}

/** The same bytes with each secret as asterisks: as long as before, so that the cut is at the same place. */
function masked(text: string, secrets: readonly string[]): string {
  if (text === '') return text;
  return [...new Set(secrets)]
    .filter((one) => one.length >= leastSecret)
    .sort((a, b) => b.length - a.length)
    .reduce((left, one) => left.replace(formsOf(one), (found) => '*'.repeat(found.length)), text);
}

/**
 * A secret in whatever case, and each of its characters as texts, JSON (`\/`, `\u002b`), forms (`%2B`) and HTML
 * (`&#43;`, `&#x2b;`) write it.
 */
function formsOf(secret: string): RegExp {
  const characters = [...Buffer.from(secret)].map((byte) => {
    const hex = byte.toString(16).padStart(2, '0');
    return `(?:\\\\?\\x${hex}|%${hex}|\\\\u00${hex}|&#0{0,5}${byte};|&#x0{0,5}${hex};)`;
  });
  return new RegExp(characters.join(''), 'gi');
}
