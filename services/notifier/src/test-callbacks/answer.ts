/** How much of an answer is told; bytes. */
const toldBytes = 1024;
/** More than is told, so that a secret at the cut is seen whole; bytes. */
const readBytes = 4096;
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
 * Reads the beginning of an answer as text; `secrets` are masked, since a receiver may answer with what it got. What came before the answer broke off, or before `passed`
 * rejected, is told.
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
  const shown = masked(Buffer.concat(parts).toString('latin1'), secrets);
  const told = Buffer.from(shown, 'latin1').subarray(0, toldBytes);
  // A character that the cut leaves incomplete is left out.
  const answer = new TextDecoder().decode(told, { stream: bytes > toldBytes });
  return { answer, answerCut: bytes > toldBytes };
}

/** Signatures and credentials in the headers of a request. */
export function secretsIn(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers)
    .filter(([name]) => secretHeaders.test(name))
    .flatMap(([, value]) => value.split(/[ ,]/))
    .filter((value) => value.length >= leastSecret);
}

/**
 * The same text with each secret, as texts, JSON and forms write it, as asterisks: as long as before, so that the cut
 * is at the same place.
 */
function masked(text: string, secrets: readonly string[]): string {
  const forms = secrets.flatMap((one) => [one, one.replaceAll('/', '\\/'), encodeURIComponent(one)]);
  return forms.reduce((left, one) => left.replaceAll(one, '*'.repeat(one.length)), text);
}
