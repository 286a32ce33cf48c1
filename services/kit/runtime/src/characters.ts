/**
 * True if a text has more than `max` characters: Unicode code points, as `maxLength` of a JSON Schema counts them. An
 * emoji is one character, and two UTF-16 code units.
 */
export function isLongerThan(text: string, max: number): boolean {
  if (text.length <= max) return false;
  // A character has at most two code units, so the characters of a much longer text need not be counted.
  return text.length > 2 * max || [...text].length > max;
}

/** Returns at most the first `max` UTF-16 code units of a text. Never splits a surrogate pair. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? max - 1 : max);
}
