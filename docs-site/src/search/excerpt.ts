import { normalLetters, type Word } from './analyse';

/** A piece of a text, marked where it is what the query asked for. */
export interface Piece {
  readonly text: string;
  readonly marked: boolean;
}

interface Match {
  readonly start: number;
  readonly end: number;
  readonly word: number;
}

const width = 80;
/** On a phone, a line of an excerpt has about 20 letters: the match stands in the first. */
const before = 14;

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Finds a text in normal letters: `wifi` is `Wi-Fi` too, `サーバ` takes its long vowel along. */
const needle = (text: string): RegExp =>
  /^[a-z0-9]/.test(text)
    ? new RegExp([...text].map(escaped).join('[-_. ]?'), 'g')
    : new RegExp(`${escaped(text)}ー?`, 'g');

interface Window {
  readonly from: number;
  readonly to: number;
}

/** The part of a text with the most words: from a little before the first of them, if possible with its sentence. */
function windowOf(text: string, found: readonly Match[], width: number): Window {
  if (text.length <= width) return { from: 0, to: text.length };
  let best = 0;
  let bestEnd = 0;
  let words = 0;
  for (const { start, end } of found) {
    const last = Math.max(end, start + width - before);
    const near = found.filter((one) => one.start >= start && one.end <= last);
    const count = new Set(near.map((one) => one.word)).size;
    if (count > words) [best, bestEnd, words] = [start, end, count];
  }
  const sentence = text.lastIndexOf('。', best - 1) + 1;
  const near = best - sentence <= width / 3 ? sentence : Math.max(0, best - before);
  // A text that ends soon after the match leaves room before it.
  const start = Math.max(near - before, Math.min(near, text.length - width), 0);
  const border = start === sentence ? -1 : text.slice(start, best).search(/[。、 ]/);
  let from = start === 0 ? 0 : start + border + 1;
  while (from < best && /[。、 ]/.test(text[from] ?? '')) from++;
  return { from, to: Math.min(text.length, Math.max(bestEnd, from + width)) };
}

/** One window, or two where one does not have all words. */
function windowsOf(text: string, found: readonly Match[]): Window[] {
  const missing = ({ from, to }: Window) => {
    const inside = found.filter((one) => one.start >= from && one.end <= to).map((one) => one.word);
    return found.filter((one) => !inside.includes(one.word));
  };
  const one = windowOf(text, found, width);
  if (missing(one).length === 0) return [one];
  const first = windowOf(text, found, width / 2);
  const second = windowOf(text, missing(first), width / 2);
  const [left, right] = first.from < second.from ? [first, second] : [second, first];
  return left.to >= right.from ? [{ from: left.from, to: right.to }] : [left, right];
}

/** Marks the words of one query in titles and texts. */
export function createMarker(words: readonly Word[]) {
  // Words of one or two other letters stand in everything.
  const needles = words.flatMap((word, index) =>
    word.forms
      .flatMap((one) => one.texts)
      .filter((text) => text.length > 2 || !/^[a-z]+$/.test(text) || words.length === 1)
      .map((text) => ({ find: needle(text), word: index })),
  );

  function matches(text: string): Match[] {
    const plain = normalLetters(text);
    const all = needles.flatMap(({ find, word }) =>
      [...plain.matchAll(find)].map((one) => ({
        start: one.index,
        end: one.index + one[0].length,
        word,
      })),
    );
    return all.sort((a, b) => a.start - b.start || b.end - a.end);
  }

  function pieces(text: string, found: readonly Match[], from: number, to: number): Piece[] {
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
    marks: (text: string): Piece[] => pieces(text, matches(text), 0, text.length),
    /** The part of a text with the most words of the query; all names, if only they have one; else the beginning. */
    excerpt(source: string, names = ''): Piece[] {
      const text = source.replace(/\s+/g, ' ').trim();
      const found = matches(text);
      const named = found.length === 0 ? matches(names) : [];
      if (named.length > 0) return pieces(names, named, 0, names.length);
      const dots: Piece = { text: '…', marked: false };
      const windows = windowsOf(text, found);
      return [
        ...windows.flatMap(({ from, to }) => [...(from > 0 ? [dots] : []), ...pieces(text, found, from, to)]),
        ...((windows.at(-1)?.to ?? 0) < text.length ? [dots] : []),
      ];
    },
  };
}
