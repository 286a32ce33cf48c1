/** Matches a wide character: of Japanese, Chinese and Korean texts, their punctuation, full-width forms and emoji. */
const wide =
  /^(?:[[\u2e80-\u303e\u3041-\u33ff\uff01-\uff60\uffe0-\uffe6\p{Script=Han}\p{Script=Hangul}]--[\uff61-\uffdc]]|\p{Emoji_Presentation}|\p{Emoji}\ufe0f)/v;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Columns that a text without control characters takes in a terminal; a wide character takes two (Unicode UAX #11). */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    // A half-width voicing mark belongs to the grapheme of its kana, but takes a column of its own.
    width += (wide.test(segment) ? 2 : 1) + (segment.match(/(?<=.)[\uff9e\uff9f]/gu)?.length ?? 0);
  }
  return width;
}

/** Appends spaces up to a number of columns. */
export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}
