/**
 * The bytes of a text that a user wrote, without a byte-order mark at their start, as editors on Windows write it.
 * Throws an Error if the text is UTF-16.
 */
export function userBytes(content: Uint8Array): Buffer {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const [first, second, third] = bytes;
  const isMarked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  // Without a mark, one half of each unit of plain letters is 0.
  const hasHalf = bytes.length > 1 && (first === 0) !== (second === 0);
  if (isMarked || hasHalf) throw new Error('it is UTF-16. Save it as UTF-8');
  return first === 0xef && second === 0xbb && third === 0xbf ? bytes.subarray(3) : bytes;
}

/** The same, as a text. */
export function userText(content: Uint8Array): string {
  return userBytes(content).toString('utf8');
}
