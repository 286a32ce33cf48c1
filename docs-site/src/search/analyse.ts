import { spellings, synonyms } from './synonyms';

/**
 * Terms of Japanese technical text. In the index, kana and kanji become bigrams; identifiers stay whole (without `-` and
 * `_`) and also fall into their parts at a change of case, `-`, `_` and `.`. A query is a list of words with their forms.
 */
const letters = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}ー々〆';
const run = new RegExp(`[${letters}]+|[\\p{L}\\p{N}]+(?:[-_.][\\p{L}\\p{N}]+)*`, 'gu');
const ofOneKind = new RegExp(`[${letters}]+|[^${letters}]+`, 'gu');
const japanese = new RegExp(`^[${letters}]`, 'u');
const script = /[\p{Script=Katakana}ー]+|[\p{Script=Han}々〆]+|\p{Script=Hiragana}+/gu;

const katakana = /^[\p{Script=Katakana}ー]/u;
const hiragana = /^\p{Script=Hiragana}/u;
/** Between two words, these only join them: `コマンドの実行` is `コマンド` and `実行`. */
const particle =
  /^(?:[のをにはがとでへもや]|から|まで|より|には|では|とは|する|した|して|したい|できる|について|です|ます)$/;

const smallVowels = 'ァィゥェォ';
const vowels = 'アイウエオ';

const sameLetters = (text: string): string =>
  text
    .normalize('NFKC')
    .replace(/[‐‑–—−]/g, '-')
    .replace(/[ァィゥェォ]/g, (letter) => vowels[smallVowels.indexOf(letter)] ?? letter);

/** One text for all its spellings: width, hyphens, small vowels, the table of spellings. */
export const normal = (text: string): string =>
  spellings.reduce((all, [from, to]) => all.replace(from, to), sameLetters(text));

/** As `normal` in lower case, but each letter keeps its place: for marking. */
export function normalLetters(text: string): string {
  const all = sameLetters(text).toLowerCase();
  if (all.length === text.length) return all;
  return [...text]
    .map((letter) => {
      const one = sameLetters(letter).toLowerCase();
      return one.length === letter.length ? one : letter;
    })
    .join('');
}

/** For comparing titles: without spaces, hyphens, particles between words, and long vowels at the end of a word. */
export const compact = (text: string): string =>
  normal(text)
    .toLowerCase()
    .replace(/[\s\-_.]+/g, '')
    .replace(/(?<=[^\p{Script=Hiragana}])[のを](?=[^\p{Script=Hiragana}])/gu, '')
    .replace(/ー(?![\p{Script=Katakana}ー])/gu, '');

function bigrams(text: string): string[] {
  const all = [...text];
  if (all.length === 1) return all;
  return all.slice(1).map((letter, index) => `${all[index]}${letter}`);
}

/** Splits at the borders between Japanese and other letters as well: `API認証` is `api` and `認証`. */
const runs = (text: string): string[] =>
  (normal(text).match(run) ?? []).flatMap((one) => one.match(ofOneKind) ?? []);

const trimmed = (word: string) => word.replace(/^[-_.]+|[-_.]+$/g, '');
const partsOf = (word: string) =>
  word
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1-$2')
    .split(/[-_.]/)
    .filter((part) => part !== '');

/** An identifier in one piece: `Wi-Fi` is `wifi`. */
const whole = (word: string) => word.toLowerCase().replace(/[-_]/g, '');

export function indexTerms(text: string): string[] {
  return runs(text).flatMap((one) => {
    if (japanese.test(one)) return bigrams(one);
    const word = trimmed(one);
    const parts = partsOf(word);
    return [word, ...(parts.length > 1 ? parts : [])].map(whole).filter((part) => part !== '');
  });
}

/** Katakana and kanji words of a text: what an unknown compound may be made of. */
export const wordsIn = (text: string): string[] =>
  (normal(text).match(script) ?? []).filter((one) => one.length > 1 && !hiragana.test(one));

export interface Form {
  /** All of them must be found. */
  readonly terms: readonly string[];
  /** What is marked where it stands. */
  readonly texts: readonly string[];
  readonly weight: number;
  /** Only where the forms before it find nothing. */
  readonly last?: true;
}

/** A part of a query: found where one of its forms is. */
export interface Word {
  readonly text: string;
  /** Words without a space between them belong together. */
  readonly group: number;
  readonly forms: readonly Form[];
}

const form = (texts: readonly string[], weight = 1): Form => ({
  terms: texts.flatMap((text) => (japanese.test(text) ? bigrams(text) : [whole(text)])),
  texts: texts.map((text) => text.toLowerCase()),
  weight,
});

const othersOf = (text: string): string[] =>
  synonyms.filter((line) => line.includes(text)).flatMap((line) => line.filter((one) => one !== text));

/** Words of a Japanese run: borders are particles, and the ends of katakana. */
function split(text: string): string[] {
  const words: string[] = [];
  let open = false;
  let before = '';
  for (const piece of text.match(script) ?? []) {
    if (particle.test(piece)) {
      open = false;
      continue;
    }
    // A single letter belongs to what stands beside it: `アプリ側`, `新キー`.
    const joined =
      open && (katakana.test(before) === katakana.test(piece) || before.length === 1 || piece.length === 1);
    if (joined) words.push(`${words.pop()}${piece}`);
    else words.push(piece);
    before = piece;
    open = true;
  }
  return words.length > 0 ? words : [text];
}

const others = (text: string): Form[] => othersOf(text).map((other) => form(runs(other).flatMap(split), 0.8));

function japaneseForms(text: string): Form[] {
  // `パラメーター` finds `パラメータ` too, and the reverse.
  const own = /[\p{Script=Katakana}ー]{3}ー$/u.test(text) ? text.slice(0, -1) : text;
  const stem = /^.*[\p{Script=Han}](?=\p{Script=Hiragana}+$)/u.exec(own)?.[0];
  // Endings change: `届かない` also finds `届く`.
  return [form([own]), ...(stem ? [form([stem], 0.6)] : []), ...others(text)];
}

function otherForms(text: string): Form[] {
  const word = text.toLowerCase();
  const parts = partsOf(text);
  const singular = /[a-z]{3}[^su\W]s$/.test(word) ? word.slice(0, -1) : undefined;
  return [
    form([word]),
    ...(singular ? [form([singular], 0.9)] : []),
    ...[word, ...(singular ? [singular] : [])].flatMap(others),
    ...(parts.length > 1 ? [{ ...form(parts, 0.8), last: true as const }] : []),
  ];
}

const wordOf = (text: string, group: number): Word => ({
  text,
  group,
  forms: japanese.test(text) ? japaneseForms(text) : otherForms(text),
});

/** The words of a query, each once. A phrase of the synonyms is one word. */
export function queryWords(query: string): Word[] {
  const found = query
    .split(/\s+/)
    .flatMap((part, group) =>
      runs(part).map((one) => ({ one: japanese.test(one) ? one : trimmed(one), group })),
    )
    .filter(({ one }) => one !== '');
  const words: Word[] = [];
  for (let index = 0; index < found.length; index++) {
    const { one = '', group = 0 } = found[index] ?? {};
    const two = `${one} ${found[index + 1]?.one ?? ''}`.toLowerCase();
    const phrase = [two, one.toLowerCase()].find((text) => othersOf(text).length > 0);
    if (phrase === two) index++;
    if (phrase !== undefined)
      words.push({ text: phrase, group, forms: [form(runs(phrase).flatMap(split)), ...others(phrase)] });
    else words.push(...(japanese.test(one) ? split(one) : [one]).map((text) => wordOf(text, group)));
  }
  // A particle may stand alone between other letters: `API の認証`.
  const useful = words.filter((one) => !particle.test(one.text));
  const kept = useful.length > 0 ? useful : words;
  return kept.filter((one, index) => kept.findIndex((other) => other.text === one.text) === index);
}

/** A compound as the known words that it is made of, or nothing: `設定更新` is `設定` and `更新`. */
export function segments({ text, group }: Word, known: ReadonlySet<string>): Word[] {
  if (!/^(?:[\p{Script=Katakana}ー]+|[\p{Script=Han}々〆]+)$/u.test(text)) return [];
  const from = (rest: string): string[] | undefined => {
    if (rest === '') return [];
    for (let length = rest.length; length > 1; length--) {
      const head = rest.slice(0, length);
      const tail = known.has(head) || known.has(`${head}ー`) ? from(rest.slice(length)) : undefined;
      if (tail) return [head, ...tail];
    }
    return undefined;
  };
  const found = from(text);
  return found && found.length > 1 ? found.map((one) => wordOf(one, group)) : [];
}

/** Whether a term of a query may be the beginning of a word: identifiers, and a single Japanese letter. */
export const isPrefix = (term: string): boolean => !japanese.test(term) || [...term].length === 1;
