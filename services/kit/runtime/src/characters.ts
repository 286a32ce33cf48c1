/**
 * True if a text has more than `most` characters: Unicode code points, as `maxLength` of a JSON Schema counts them. An
 * emoji is one character, and two UTF-16 code units.
 */
export function isLongerThan(text: string, most: number): boolean {
  if (text.length <= most) return false;
  // No character has more than two units, so a huge text is not counted.
  return text.length > 2 * most || [...text].length > most;
}

/** The first `most` UTF-16 code units of a text, never half a character. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most);
}
