import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { root } from './imports.ts';

/** Generated folders, and released contracts, which never change. */
const skipped = new Set([
  ...['node_modules', '.git', '.cache', 'gen', 'released', 'dist', 'public', 'coverage'],
]);
const written = /\.(?:ts|tsx|js|mjs|proto|md|mdx|yaml|yml|css|sh)$|(?:^|\/)Makefile$/;

/** The texts of the repository, by path from its root. */
export function texts(): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (folder: string) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && !skipped.has(entry.name) && !/^(?:\.data|dist-)/.test(entry.name))
        visit(path);
      if (entry.isFile() && written.test(path)) found.set(relative(root, path), readFileSync(path, 'utf8'));
    }
  };
  visit(root);
  return found;
}

/** Valid targets of references. */
export interface Targets {
  readonly rules: ReadonlySet<string>;
  readonly adrs: ReadonlySet<string>;
  readonly sections: ReadonlySet<string>;
}

export function targets(): Targets {
  const page = (path: string) => readFileSync(join(root, path), 'utf8');
  const matches = (text: string, pattern: RegExp) =>
    new Set([...text.matchAll(pattern)].map((m) => m[1] ?? ''));
  return {
    rules: matches(page('docs/rules.md'), /^## ([ABC]\d+)\. /gm),
    adrs: new Set(readdirSync(join(root, 'docs/adr')).map((name) => name.slice(0, 4))),
    sections: matches(page('tests/specification/README.md'), /^## ((?:API|Callbacks) \d+):/gm),
  };
}

/** Joins lines, because comments can break lines anywhere. */
const joined = (text: string) => text.replace(/\n\s*(?:\*(?!\/)|\/\/|#)?\s*/g, ' ');

/** Names of documents outside the repository. */
const outside: readonly RegExp[] = [
  /\brulings?\b[^.]{0,20}/gi,
  /\bdecisions? \d+/gi,
  /\(style \d+/g,
  /\b(?:api|callbacks-and-site|rulings|design|style)\.md\b/g,
  /(?<!RFC \d{4},?(?: \w+)? )\bsections? \d+(?!\.\d)/gi,
];

/** References of a text without a target. */
export function deadReferences(file: string, text: string, known: Targets): string[] {
  const line = joined(text);
  const list = String.raw`((?:[ABC]\d+(?:, | and | to )?)+)`;
  const dead: string[] = [];
  for (const [whole, names = ''] of line.matchAll(new RegExp(String.raw`\brules? ${list}`, 'gi'))) {
    if (names.match(/[ABC]\d+/g)?.some((name) => !known.rules.has(name))) dead.push(whole);
  }
  for (const [whole, number = ''] of line.matchAll(/\bADR (\d{4})/g))
    if (!known.adrs.has(number)) dead.push(whole);
  for (const [whole, document, numbers = ''] of line.matchAll(
    /\bspecification,? \(?(API|Callbacks) (\d+(?: and \d+)?)/gi,
  )) {
    if (numbers.match(/\d+/g)?.some((number) => !known.sections.has(`${document} ${number}`)))
      dead.push(whole);
  }
  for (const pattern of outside) dead.push(...[...line.matchAll(pattern)].map(([whole]) => whole));
  if (file.endsWith('.md')) dead.push(...deadLinks(file, text));
  return dead;
}

/** Links of a page to missing files of the repository, and to missing headings of its pages. */
function deadLinks(file: string, text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, address = '']) => address)
    .filter((address) => !/^(?:[a-z]+:|#|\/)/.test(address))
    .filter((address) => {
      const [path = '', heading] = address.split('#');
      const target = resolve(root, dirname(file), path);
      if (!existsSync(target)) return true;
      return heading !== undefined && target.endsWith('.md') && !anchorsIn(target).has(heading);
    });
}

/** Anchors of a page's headings, as GitHub makes them. */
function anchorsIn(page: string): ReadonlySet<string> {
  const headings = readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm);
  return new Set(
    [...headings].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
