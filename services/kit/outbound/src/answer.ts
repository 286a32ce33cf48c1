/** Maximum length of the shown part of an answer; bytes. */
const shownBytes = 1024;
/** Bytes read of an answer: more than are shown, so that a secret at the cut is recognized; bytes. */
export const readBytes = 4096;
/** Minimum length of a secret to mask: shorter values reveal nothing. */
const leastSecret = 8;
const secretHeaders = /signature|notification-key|authorization/i;

/** The beginning of an answer. */
export interface Beginning {
  readonly answer: string;
  /** The answer was longer. */
  readonly answerCut: boolean;
}

/**
 * Reads the beginning of an answer and masks it with `maskedBeginning`: everything that arrived before the answer
 * ended abnormally, or before `passed` rejected.
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
  return maskedBeginning(Buffer.concat(parts), secrets);
}

/**
 * Returns at most 1 KiB of an answer's first `readBytes`, as text with all secrets masked: a receiver may repeat the
 * request or other secrets, and other people read the text. Pure.
 */
export function maskedBeginning(bytes: Buffer, secrets: readonly string[]): Beginning {
  const shown = masked(bytes.toString('latin1'), secrets);
  const kept = Buffer.from(shown, 'latin1').subarray(0, shownBytes);
  const answerCut = bytes.length > shownBytes;
  // Drops a character that the cut made incomplete.
  return { answer: new TextDecoder().decode(kept, { stream: answerCut }), answerCut };
}

/** Signatures and credentials in the headers of a request. */
export function secretsIn(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers)
    .filter(([name]) => secretHeaders.test(name))
    .flatMap(([, value]) => [value, ...value.split(/[ ,]/)]);
}

/** Replaces each secret by asterisks of the same length, so that the cut stays at the same position. */
function masked(text: string, secrets: readonly string[]): string {
  if (text === '') return text;
  return [...new Set(secrets)]
    .filter((one) => one.length >= leastSecret)
    .sort((a, b) => b.length - a.length)
    .reduce((left, one) => left.replace(formsOf(one), (found) => '*'.repeat(found.length)), text);
}

/**
 * Matches a secret in upper or lower case, with each character as plain text or as JSON (`\/`, `\u002b`), forms (`%2B`)
 * and HTML (`&#43;`, `&#x2b;`) encode it.
 */
function formsOf(secret: string): RegExp {
  const characters = [...Buffer.from(secret)].map((byte) => {
    const hex = byte.toString(16).padStart(2, '0');
    return `(?:\\\\?\\x${hex}|%${hex}|\\\\u00${hex}|&#0{0,5}${byte};|&#x0{0,5}${hex};)`;
  });
  return new RegExp(characters.join(''), 'gi');
}
