/**
 * Words of Japanese technical text, the same for index and query. Kana and kanji become bigrams; identifiers stay
 * whole, and in the index also fall into their parts at a change of case, `-`, `_` and `.`.
 */
const run =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々〆]+|[\p{L}\p{N}]+(?:[-_.][\p{L}\p{N}]+)*/gu;
const japanese = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々〆]/u;

const normal = (text: string) => text.normalize('NFKC').replace(/[‐‑–—−]/g, '-');

function bigrams(text: string): string[] {
  const letters = [...text];
  if (letters.length === 1) return letters;
  return letters.slice(1).map((letter, index) => `${letters[index]}${letter}`);
}

/** Splits at the borders between Japanese and other letters as well: `API認証` is `api` and `認証`. */
function runs(text: string): string[] {
  return (normal(text).match(run) ?? []).flatMap(
    (one) =>
      one.match(
        /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々〆]+|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々〆]+/gu,
      ) ?? [],
  );
}

const trimmed = (word: string) => word.replace(/^[-_.]+|[-_.]+$/g, '');

export function indexTerms(text: string): string[] {
  return runs(text).flatMap((one) => {
    if (japanese.test(one)) return bigrams(one);
    const word = trimmed(one);
    const parts = word.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1-$2').split(/[-_.]/);
    const all = parts.length > 1 ? [word, ...parts] : [word];
    return all.filter((part) => part !== '').map((part) => part.toLowerCase());
  });
}

export function queryTerms(text: string): string[] {
  return runs(text).flatMap((one) =>
    japanese.test(one) ? bigrams(one) : [trimmed(one).toLowerCase()].filter((word) => word !== ''),
  );
}

/** Whether a term of a query may be the beginning of a word: identifiers, and a single Japanese letter. */
export const isPrefix = (term: string): boolean => !japanese.test(term) || [...term].length === 1;
