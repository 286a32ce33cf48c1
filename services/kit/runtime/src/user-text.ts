/**
 * Returns the bytes of a text that a user wrote, without the byte-order mark that editors on Windows add at the start.
 * Throws an Error if the text is UTF-16.
 */
export function userBytes(content: Uint8Array): Buffer {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const [first, second, third] = bytes;
  const isMarkedUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  // Detects UTF-16 without a byte-order mark: one of the two bytes of an ASCII character is 0.
  const isUnmarkedUtf16 = bytes.length > 1 && (first === 0) !== (second === 0);
  if (isMarkedUtf16 || isUnmarkedUtf16) throw new Error('it is UTF-16. Save it as UTF-8');
  return first === 0xef && second === 0xbb && third === 0xbf ? bytes.subarray(3) : bytes;
}

/** Like `userBytes`, as a text. */
export function userText(content: Uint8Array): string {
  return userBytes(content).toString('utf8');
}
