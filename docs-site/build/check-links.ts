import type { HtmlFacts } from './html.ts';

export interface LinkProblem {
  readonly page: string;
  readonly target: string;
  readonly reason: string;
}

/** `/docs/index.html` → `/docs`. */
export const pageOf = (file: string): string => file.replace(/(?:\/index)?\.html$/, '') || '/';

const external = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i;
const allowed = /^(?:https?:\/\/|mailto:)/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: browsers drop some of them, so that they hide a scheme
const unreadable = /[\u0000-\u0020]/;

/** Source of a page. */
export interface Source {
  readonly file: string;
  readonly text: string;
}

function decoded(address: string): string {
  try {
    return decodeURI(address);
  } catch {
    return address;
  }
}

/** Line of a source that contains an address; undefined if the address is not in the source (navigation, footer). */
export function lineOfAddress({ text }: Source, target: string): number | undefined {
  const spellings = [target, decoded(target)].flatMap((one) =>
    ['(', '"', ' '].flatMap((before) => [')', '"', ' '].map((after) => before + one + after)),
  );
  const index = text.split('\n').findIndex((line) => spellings.some((one) => ` ${line} `.includes(one)));
  return index < 0 ? undefined : index + 1;
}

/**
 * Resolves every address of every page: a path to a file, a hash to an id. `files`: paths relative to the folder of
 * the site. `pages`: facts of the HTML files by path. `siteUrl`: links that begin with this address are internal.
 */
export function checkLinks(
  files: ReadonlySet<string>,
  pages: ReadonlyMap<string, HtmlFacts>,
  siteUrl: string,
): LinkProblem[] {
  const problems: LinkProblem[] = [];
  for (const [file, facts] of pages) {
    const page = pageOf(file);
    for (const id of facts.duplicateIds)
      problems.push({ page, target: `#${id}`, reason: 'the anchor is used twice on the page' });
    for (const { target } of facts.references) {
      const inside = target.startsWith(`${siteUrl}/`) ? target.slice(siteUrl.length) : target;
      const reason = problemOf(inside, file, files, pages);
      if (reason) problems.push({ page, target, reason });
    }
  }
  return problems;
}

function problemOf(
  target: string,
  file: string,
  files: ReadonlySet<string>,
  pages: ReadonlyMap<string, HtmlFacts>,
): string | undefined {
  if (target === '') return 'the address is empty';
  if (unreadable.test(target)) return 'the address contains a space';
  if (external.test(target)) {
    return allowed.test(target) ? undefined : 'links begin with /, #, https:, http: or mailto:';
  }
  let path: string;
  let hash: string;
  try {
    const url = new URL(target, `http://site${pageOf(file)}`);
    path = decodeURIComponent(url.pathname);
    hash = decodeURIComponent(url.hash.slice(1));
  } catch {
    return 'the address cannot be parsed';
  }
  const ownPage = target.startsWith('#') || target.startsWith('?');
  const found = ownPage
    ? file
    : [path, `${path === '/' ? '' : path}/index.html`, `${path}.html`].find((one) => files.has(one));
  if (!found) {
    return path !== '/' && path.endsWith('/')
      ? 'no such page (routes have no slash at the end)'
      : 'no such page or file';
  }
  if (hash !== '' && !pages.get(found)?.ids.has(hash)) return `no element with the id "${hash}"`;
  return undefined;
}
