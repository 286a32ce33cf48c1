import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const folders = ['gateway', 'services', 'tests', 'docs-site/tests'];

/** A test that says which lines of the specification it proves. */
export interface Proof {
  readonly id: string;
  /** From the project's root. */
  readonly file: string;
  readonly title: string;
}

/**
 * The proofs that test files name. A test or describe names them in comments directly above it, found
 * without running it:
 *
 *     // proves api/5/extras-limit, api/8/400-body
 *     test('extras have at most 4096 bytes …
 */
export function readProofs(): Proof[] {
  return folders
    .flatMap((folder) => testFiles(join(root, folder)))
    .toSorted()
    .flatMap((file) => proofsOf(readFileSync(file, 'utf8'), relative(root, file)));
}

function testFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules') return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return testFiles(path);
    return entry.name.endsWith('.test.ts') ? [path] : [];
  });
}

const comments = /^[ \t]*\/\/ proves .+\n(?:[ \t]*\/\/.*\n)*/gm;

/** The proofs of one file's text. Throws when a comment stands above no test, or its title is not found. */
export function proofsOf(text: string, file: string): Proof[] {
  return [...text.matchAll(comments)].flatMap((match) => {
    const ids = [...match[0].matchAll(/\/\/ proves (.+)/g)].flatMap((m) => m[1]?.split(/,\s*/) ?? []);
    const title = titleAt(text, match.index + match[0].length);
    if (title === undefined) throw new Error(`${file}: no test follows '${match[0].trim()}'`);
    return ids.map((id) => ({ id: id.trim(), file, title }));
  });
}

const opening = /^\s*(?:await )?(?:test|it|check|disturbed|describe\w*)\b[\w.]*(?:<[^(]*>)?/;

/** The title of the test that stands at this place: the first text of its last call, past `.each(…)`. */
function titleAt(text: string, from: number): string | undefined {
  const start = opening.exec(text.slice(from));
  if (!start) return undefined;
  let at = from + start[0].length;
  if (/\.each(?:<|$)/.test(start[0])) at = closing(text, at) + 1;
  const title = /^\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/.exec(text.slice(at));
  return title?.[2]?.replaceAll(/\\(.)/g, '$1');
}

/** The index of the bracket that closes the one at `from`; texts are stepped over. */
function closing(text: string, from: number): number {
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    const c = text.charAt(i);
    if (c === "'" || c === '"' || c === '`') {
      for (i++; text.charAt(i) !== c; i++) if (text.charAt(i) === '\\') i++;
    } else if (c === '/' && text.charAt(i + 1) === '/') {
      i = text.indexOf('\n', i);
    } else if ('([{'.includes(c)) {
      depth++;
    } else if (')]}'.includes(c) && --depth === 0) {
      return i;
    }
  }
  return text.length;
}
