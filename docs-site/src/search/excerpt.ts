import { patternOf, type Word } from './analyse';

/** A piece of a text; `marked` if it matches the query. */
export interface Piece {
  readonly text: string;
  readonly marked: boolean;
}

interface Match {
  readonly start: number;
  readonly end: number;
  readonly word: number;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** Maximum length of an excerpt, and of its text before a match; characters. A line on a phone has about 20. */
const width = 80;
const before = 14;

/** Marks the words of one query in titles and texts. */
export function createMarker(words: readonly Word[]) {
  const patterns = words.map(patternOf);

  const matches = (text: string): Match[] =>
    patterns
      .flatMap((pattern, word) =>
        [...text.matchAll(pattern)].map((one) => ({
          start: one.index,
          end: one.index + one[0].length,
          word,
        })),
      )
      .sort((a, b) => a.start - b.start || b.end - a.end);

  function pieces(text: string, found: readonly Match[], { from, to }: Range): Piece[] {
    const result: Piece[] = [];
    let at = from;
    for (const { start, end } of found) {
      if (start < at || end > to) continue;
      if (start > at) result.push({ text: text.slice(at, start), marked: false });
      result.push({ text: text.slice(start, end), marked: true });
      at = end;
    }
    if (at < to) result.push({ text: text.slice(at, to), marked: false });
    return result;
  }

  return {
    marks: (text: string): Piece[] => pieces(text, matches(text), { from: 0, to: text.length }),
    /** Parts of the text around matches; all names if only the names match; otherwise the beginning of the text. */
    excerpt(source: string, names = ''): Piece[] {
      const text = source.replace(/\s+/g, ' ').trim();
      const found = matches(text);
      const named = found.length === 0 ? matches(names) : [];
      if (named.length > 0) return pieces(names, named, { from: 0, to: names.length });
      const dots: Piece = { text: '…', marked: false };
      const ranges = rangesOf(text, found);
      return [
        ...ranges.flatMap((range) => [...(range.from > 0 ? [dots] : []), ...pieces(text, found, range)]),
        ...((ranges.at(-1)?.to ?? 0) < text.length ? [dots] : []),
      ];
    },
  };
}

/** Start of a range around a match: the start of the sentence if it is near, otherwise shortly before the match. */
function beginning(text: string, { start }: Match): number {
  const sentence = text.lastIndexOf('。', start - 1) + 1;
  if (start - sentence <= width / 3) return sentence;
  return start - before + text.slice(start - before, start).search(/[。、 ]/) + 1;
}

/** One range, or two if the matches are far from each other. */
function rangesOf(text: string, found: readonly Match[]): Range[] {
  if (text.length <= width) return [{ from: 0, to: text.length }];
  const range = (match: Match | undefined, length: number): Range => {
    const from = match ? Math.max(0, Math.min(beginning(text, match), text.length - length)) : 0;
    return { from, to: Math.min(text.length, Math.max(from + length, match?.end ?? 0)) };
  };
  const words = (one: Range) =>
    new Set(found.filter(({ start, end }) => start >= one.from && end <= one.to).map(({ word }) => word));
  const all = found.map((match) => range(match, width));
  const best = all.reduce((a, b) => (words(b).size > words(a).size ? b : a), range(found[0], width));
  const shown = words(best);
  const missing = found.find(({ word }) => !shown.has(word));
  if (!missing) return [best];
  const first = range(
    found.find(({ start }) => start >= best.from),
    width / 2,
  );
  const second = range(missing, width / 2);
  const [left, right] = first.from < second.from ? [first, second] : [second, first];
  return left.to >= right.from ? [{ from: left.from, to: right.to }] : [left, right];
}
