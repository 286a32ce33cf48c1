/** Maximum length of the shown part of an answer; bytes. */
const shownBytes = 1024;
/** Number of bytes that are read of an answer. It exceeds `shownBytes`, so that a truncated secret is recognized. */
export const readBytes = 4096;
/** Minimum length of a masked secret: a shorter value reveals nothing. */
const minSecretLength = 8;
const secretHeaders = /signature|notification-key|authorization/i;

/** The beginning of an answer. */
export interface Beginning {
  readonly answer: string;
  /** True if the answer is longer than the shown part. */
  readonly answerCut: boolean;
}

/**
 * Reads the beginning of an answer and masks it with `maskedBeginning`. Uses the bytes that have arrived if the answer
 * fails, or if the time limit is over (`expired` rejects).
 */
export async function beginning(
  body: AsyncIterable<Buffer>,
  secrets: readonly string[],
  expired: Promise<never>,
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
  await Promise.race([reading, expired]).catch(() => {});
  return maskedBeginning(Buffer.concat(parts), secrets);
}

/**
 * Returns at most 1 KiB of an answer's first `readBytes` as text, with all secrets masked. An answer may repeat secrets
 * of the request, and more people read the stored text than know these secrets.
 */
export function maskedBeginning(bytes: Buffer, secrets: readonly string[]): Beginning {
  const shown = masked(bytes.toString('latin1'), secrets);
  const kept = Buffer.from(shown, 'latin1').subarray(0, shownBytes);
  const answerCut = bytes.length > shownBytes;
  // With `stream`, the decoder drops an incomplete character at the end.
  return { answer: new TextDecoder().decode(kept, { stream: answerCut }), answerCut };
}

/** Signatures and credentials in the headers of a request. */
export function secretsIn(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers)
    .filter(([name]) => secretHeaders.test(name))
    .flatMap(([, value]) => [value, ...value.split(/[ ,]/)]);
}

/** Replaces each secret with asterisks of the same length, so that the shown part ends at the same position. */
function masked(text: string, secrets: readonly string[]): string {
  if (text === '') return text;
  return [...new Set(secrets)]
    .filter((one) => one.length >= minSecretLength)
    .sort((a, b) => b.length - a.length)
    .reduce((left, one) => left.replace(formsOf(one), (found) => '*'.repeat(found.length)), text);
}

/**
 * Matches a secret in upper or lower case. Each character may be plain, or encoded as in JSON (`\/`, `\u002b`), in form
 * data (`%2B`) or in HTML (`&#43;`, `&#x2b;`).
 */
function formsOf(secret: string): RegExp {
  const characters = [...Buffer.from(secret)].map((byte) => {
    const hex = byte.toString(16).padStart(2, '0');
    return `(?:\\\\?\\x${hex}|%${hex}|\\\\u00${hex}|&#0{0,5}${byte};|&#x0{0,5}${hex};)`;
  });
  return new RegExp(characters.join(''), 'gi');
}
