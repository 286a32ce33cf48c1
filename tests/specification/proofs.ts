import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const folders = ['gateway', 'services', 'tests', 'docs-site/tests'];
/** Fuzz tests of listeners are no test files. */
const fuzzedListeners = join(root, 'tests/fuzz/listeners');

/** A test with the line of the specification that it proves, or the attack that it protects against. */
export interface Proof {
  readonly id: string;
  /** From the project's root. */
  readonly file: string;
  readonly title: string;
}

/** Kind of claim in a test's comment: it proves a line of the specification, or protects against an attack. */
export type Claim = 'proves' | 'protects against';

/**
 * The proofs that test files name. A test or describe names them in comments directly above it, found
 * without running it:
 *
 *     // proves api/5/extras-limit, api/8/400-body
 *     // protects against rest/json-nesting
 *     test('extras have at most 4096 bytes …
 */
export function readProofs(claim: Claim = 'proves'): Proof[] {
  return folders
    .flatMap((folder) => testFiles(join(root, folder)))
    .toSorted()
    .flatMap((file) => proofsOf(readFileSync(file, 'utf8'), relative(root, file), claim));
}

function testFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules') return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return testFiles(path);
    return entry.name.endsWith('.test.ts') || folder === fuzzedListeners ? [path] : [];
  });
}

/** The proofs of one file's text. Throws if no test follows a comment, or its title is not found. */
export function proofsOf(text: string, file: string, claim: Claim = 'proves'): Proof[] {
  const comments = new RegExp(`^[ \\t]*// ${claim} .+\\n(?:[ \\t]*//.*\\n)*`, 'gm');
  return [...text.matchAll(comments)].flatMap((match) => {
    const ids = [...match[0].matchAll(new RegExp(`// ${claim} (.+)`, 'g'))].flatMap(
      (m) => m[1]?.split(/,\s*/) ?? [],
    );
    const title = titleAt(text, match.index + match[0].length);
    if (title === undefined) throw new Error(`${file}: no test follows '${match[0].trim()}'`);
    return ids.map((id) => ({ id: id.trim(), file, title }));
  });
}

const opening =
  /^\s*(?:await |export const \w+ = )?(?:test|it(?:IfLong)?|check|disturbed|fuzz|describe\w*)\b[\w.]*/;

/** The title of the test at this position: the first text of its last call, past `.each(…)`. */
function titleAt(text: string, from: number): string | undefined {
  const start = opening.exec(text.slice(from));
  if (!start) return undefined;
  let at = pastTypes(text, from + start[0].length);
  if (start[0].endsWith('.each')) at = closing(text, at) + 1;
  const title = /^\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/.exec(text.slice(at));
  return title?.[2]?.replaceAll(/\\(.)/g, '$1');
}

/** The index after the type arguments that begin at `from`, if any do; the `>` of `=>` closes none. */
function pastTypes(text: string, from: number): number {
  if (text.charAt(from) !== '<') return from;
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    const c = text.charAt(i);
    if (c === '<') depth++;
    else if (c === '>' && text.charAt(i - 1) !== '=' && --depth === 0) return i + 1;
  }
  return text.length;
}

/** The index of the bracket that closes the one at `from`; strings are skipped. */
function closing(text: string, from: number): number {
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    const c = text.charAt(i);
    if (c === "'" || c === '"' || c === '`') {
      for (i++; i < text.length && text.charAt(i) !== c; i++) if (text.charAt(i) === '\\') i++;
    } else if (c === '/' && text.charAt(i + 1) === '/') {
      i = text.indexOf('\n', i);
    } else if (c === '/' && /[([{,=:]\s*$/.test(text.slice(Math.max(0, i - 80), i))) {
      i = pastRegExp(text, i);
    } else if ('([{'.includes(c)) {
      depth++;
    } else if (')]}'.includes(c) && --depth === 0) {
      return i;
    }
  }
  return text.length;
}

/** The index of the slash that ends the regular expression at `from`. */
function pastRegExp(text: string, from: number): number {
  let inClass = false;
  for (let i = from + 1; i < text.length; i++) {
    const c = text.charAt(i);
    if (c === '\\') i++;
    else if (c === '[') inClass = true;
    else if (c === ']') inClass = false;
    else if (c === '/' && !inClass) return i;
  }
  return text.length;
}
