/**
 * Terms of Japanese technical text: bigrams for Japanese, which need no dictionary, and identifiers. Queries are split
 * into words, and their particles and endings are ignored.
 */
const segmenter = new Intl.Segmenter('ja', { granularity: 'word' });

const runs = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+|[a-z\d]+(?:[-_.][a-z\d]+)*/giu;
const isIdentifier = (run: string): boolean => /^[a-z\d]/i.test(run);

/** Pairs of characters that count as the same character. */
const variants = ['アァ', 'イィ', 'ウゥ', 'エェ', 'オォ'];
const spellings = [
  ['チャンネル', 'チャネル'],
  ['べき等', '冪等'],
] as const;

const runsOf = (text: string): string[] =>
  spellings.reduce((all, [from, to]) => all.replaceAll(from, to), text.normalize('NFKC')).match(runs) ?? [];

/** Normalizes spellings of a Japanese word: small vowels, and a long vowel at the end. */
const folded = (word: string): string =>
  variants
    .reduce((all, [large = '', small = '']) => all.replaceAll(small, large), word)
    .replace(/ー(?!\p{Script=Katakana})/gu, '');

const bigrams = (word: string): string[] => {
  const letters = [...folded(word)];
  return letters.length === 1 ? letters : letters.slice(1).map((letter, index) => letters[index] + letter);
};

/** `Wi-Fi` → `wifi`. */
const whole = (identifier: string): string => identifier.toLowerCase().replace(/[-_]/g, '');

/** `notify-batteryLow` → `notify`, `battery`, `low`. */
const partsOf = (identifier: string): string[] =>
  identifier
    .replace(/([a-z\d])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[-_.]/);

export const indexTerms = (text: string): string[] =>
  runsOf(text).flatMap((run) =>
    isIdentifier(run) ? [...new Set([whole(run), ...partsOf(run)])] : bigrams(run),
  );

/** A word of a query. */
export interface Word {
  readonly text: string;
  /** A record matches the word if it contains all of these terms. */
  readonly terms: readonly string[];
  /** Words to search instead if no record matches this word. */
  readonly parts: readonly Word[];
}

/** Creates a word of one or several parts. */
const wordOf = (text: string, parts: readonly string[], termsOf: (part: string) => string[]): Word => ({
  text,
  terms: termsOf(text),
  parts: parts.length > 1 ? parts.map((part) => wordOf(part, [], termsOf)) : [],
});

const hiragana = /^\p{Script=Hiragana}+$/u;
const katakana = /^[\p{Script=Katakana}ー]+$/u;

/** Japanese words without particles and endings, unless the text has nothing else. Adjacent katakana are one word. */
function japaneseWords(run: string): Word[] {
  const segments = [...segmenter.segment(run)].map(({ segment }) => segment);
  const words: string[][] = [];
  let before = '';
  for (const segment of segments) {
    const isJoined =
      (katakana.test(before) && katakana.test(segment)) || before.length === 1 || segment.length === 1;
    if (!hiragana.test(segment)) {
      if (before !== '' && isJoined) words.at(-1)?.push(segment);
      else words.push([segment]);
    }
    before = hiragana.test(segment) ? '' : segment;
  }
  return (words.length > 0 ? words : [segments]).map((parts) =>
    wordOf(parts.join('').replace(/(?<=\p{Script=Han})\p{Script=Hiragana}+$/u, ''), parts, bigrams),
  );
}

/** Words of a query, grouped by its parts between spaces. */
export const queryParts = (query: string): Word[][] =>
  query
    .split(/\s+/)
    .map((part) =>
      runsOf(part).flatMap((run) =>
        isIdentifier(run) ? [wordOf(run, partsOf(run), (part) => [whole(part)])] : japaneseWords(run),
      ),
    )
    .filter((words) => words.length > 0);

/** Whether a query term also matches the beginning of a word: identifiers and single characters. */
export const isPrefix = (term: string): boolean => isIdentifier(term) || term.length === 1;

/** Pattern that matches all spellings of a word in a text: `wifi` and `Wi-Fi`, `サーバ` and `サーバー`. */
export function patternOf({ text }: Word): RegExp {
  const letters = [...(isIdentifier(text) ? whole(text) : folded(text))].map(
    (letter) => `[${variants.find((one) => one.startsWith(letter)) ?? letter}]`,
  );
  return new RegExp(isIdentifier(text) ? letters.join('[-_. ]?') : `${letters.join('')}ー?`, 'gi');
}
