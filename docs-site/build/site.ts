import { createHash } from 'node:crypto';
import { basename, join, resolve } from 'node:path';
import type { DocumentPage, SearchRecord, SidebarCategory } from '../src/types.ts';
import type { Source } from './check-links.ts';
import { ContentError } from './front-matter.ts';
import { type Guide, loadGuides, markdownOf } from './guides.ts';
import { createHighlight } from './highlight.ts';
import { type LoadedApi, loadApis, withLocation } from './openapi.ts';
import { type OwnPage, ownPages } from './own-pages.ts';
import { loadRenderer } from './renderer.ts';
import type { Settings } from './settings.ts';
import { checkStrings } from './strings.ts';
import { exampleValues, fill } from './values.ts';

export interface BuiltPage {
  readonly page: DocumentPage;
  readonly html: string;
  readonly markdown: string;
}

export interface Site {
  /** Sources of the pages, by route. */
  readonly sources: ReadonlyMap<string, Source>;
  readonly pages: readonly BuiltPage[];
  readonly own: readonly OwnPage[];
  readonly apis: readonly LoadedApi[];
  readonly search: readonly SearchRecord[];
}

export interface SiteOptions {
  readonly root: string;
  readonly settings: Settings;
  readonly drafts: boolean;
  readonly content?: string;
  readonly openapi?: string;
}

const version = 'current';

const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 10);
const fragmentOf = (route: string, html: string) =>
  `/fragments/${route.slice(1).replaceAll('/', '-')}.${hash(html)}.txt`;

/** Sidebar of all guides, without unlisted pages and the root page. */
function guideSidebar(guides: readonly Guide[], guidesLabel: string): SidebarCategory[] {
  const listed = guides.filter((one) => !one.data.unlisted && one.route !== '/docs');
  const labels = [...new Set(listed.map((one) => one.data.category ?? guidesLabel))];
  return labels.map((label) => ({
    label,
    items: listed
      .filter((one) => (one.data.category ?? guidesLabel) === label)
      .map(({ data, route }) => ({ label: data.sidebar_label ?? data.title, href: route })),
  }));
}

function guidePages(
  guides: readonly Guide[],
  guidesLabel: string,
  render: (guide: Guide) => string,
  markdown: (guide: Guide) => string,
): BuiltPage[] {
  const sidebar = guideSidebar(guides, guidesLabel);
  const order = guides.filter((one) => !one.data.unlisted);
  return guides.map((guide) => {
    const { data, route, toc } = guide;
    const html = render(guide);
    const index = order.indexOf(guide);
    const link = (one: Guide | undefined) =>
      one ? { label: one.data.sidebar_label ?? one.data.title, href: one.route } : undefined;
    const previous = index > 0 ? link(order[index - 1]) : undefined;
    const next = index >= 0 ? link(order[index + 1]) : undefined;
    const isRoot = route === '/docs';
    return {
      html,
      markdown: markdown(guide),
      page: {
        kind: 'guide',
        route,
        title: data.title,
        description: data.description,
        fragment: fragmentOf(route, html),
        toc,
        sidebar,
        breadcrumbs: [
          ...(isRoot
            ? []
            : [{ label: guidesLabel, href: '/docs' }, ...(data.category ? [{ label: data.category }] : [])]),
          { label: data.sidebar_label ?? data.title },
        ],
        ...(previous ? { previous } : {}),
        ...(next ? { next } : {}),
        ...(data.unlisted ? { unlisted: true as const } : {}),
        ...(data.draft ? { draft: true as const } : {}),
        version,
      },
    };
  });
}

const isSearched = ({ data }: Guide): boolean => !data.unlisted && !data.draft;

function guideSearch(guides: readonly Guide[]): SearchRecord[] {
  return guides.filter(isSearched).flatMap(({ data, route, sections }) =>
    sections.map(
      (section): SearchRecord =>
        section.id === ''
          ? {
              href: route,
              title: data.title,
              path: [],
              text: `${data.description}\n${section.body}`,
              kind: 'page',
            }
          : {
              href: `${route}#${section.id}`,
              title: section.text,
              path: [data.title],
              text: section.body,
              kind: 'heading',
            },
    ),
  );
}

/** Adds the keywords of the guides to their search records. Throws a ContentError if a record does not exist. */
function withKeywords(records: readonly SearchRecord[], guides: readonly Guide[]): SearchRecord[] {
  const keywords = new Map<string, string>();
  for (const { file, route, data, source } of guides.filter(isSearched)) {
    for (const [key, words] of Object.entries(data.keywords ?? {})) {
      const href = key === 'page' ? route : key.startsWith('/') ? key : `${route}#${key}`;
      if (!records.some((one) => one.href === href)) {
        const line = source.split('\n').findIndex((one) => one.includes(`${key}:`)) + 1;
        throw new ContentError(file, line, `"keywords" name ${href}, which is not in the search index`);
      }
      keywords.set(href, words);
    }
  }
  return records.map((record) => {
    const words = [record.words, keywords.get(record.href)].filter(Boolean).join(' ');
    return words ? { ...record, words } : record;
  });
}

/** Renders every guide and reference. Writes no files. */
export async function buildSite({ root, settings, drafts, content, openapi }: SiteOptions): Promise<Site> {
  await checkStrings(root);
  const values = exampleValues(settings);
  const highlight = await createHighlight(values);
  const renderer = await loadRenderer(root);
  const guides = await loadGuides(content ?? join(root, 'content'), highlight, drafts);
  const apis = await loadApis(openapi ?? resolve(root, '../gateway/openapi'));
  const pages = guidePages(
    guides,
    renderer.ja.nav.guides,
    (guide) => {
      try {
        return renderer.renderGuide(guide.Content as Parameters<typeof renderer.renderGuide>[0]);
      } catch (error) {
        if (error instanceof ContentError) throw error;
        throw new Error(`${guide.file}: ${(error as Error).message}`);
      }
    },
    (guide) => markdownOf(guide, (text) => fill(text, values), renderer.ja.admonition),
  );
  const references = apis.map((api) => apiPage(api, apis, renderer, highlight));
  return {
    sources: new Map([
      ...guides.map(({ route, file, source }) => [route, { file, text: source }] as const),
      ...apis.map(({ route, file, text }) => [route, { file: basename(file), text }] as const),
    ]),
    pages: [...pages, ...references.map((one) => one.built)],
    own: ownPages(renderer.home, renderer.ja, settings),
    apis,
    search: withKeywords([...guideSearch(guides), ...references.flatMap((one) => one.search)], guides),
  };
}

function apiPage(
  api: LoadedApi,
  apis: readonly LoadedApi[],
  renderer: Awaited<ReturnType<typeof loadRenderer>>,
  highlight: Awaited<ReturnType<typeof createHighlight>>,
): { built: BuiltPage; search: readonly SearchRecord[] } {
  const { name, route, document } = api;
  const render = () =>
    renderer.renderApi({
      name,
      route,
      document,
      others: apis
        .filter((one) => one !== api)
        .map((one) => ({ name: one.name, route: one.route, document: one.document })),
      highlight: (code, language) => highlight(code, language),
    });
  const { page, html } = withLocation(api, render);
  const index = apis.indexOf(api);
  const link = (one: LoadedApi | undefined) =>
    one ? { label: renderer.ja.apis[one.name], href: one.route } : undefined;
  const previous = link(apis[index - 1]);
  const next = link(apis[index + 1]);
  return {
    search: page.search,
    built: {
      html,
      markdown: page.text,
      page: {
        kind: 'api',
        route,
        title: page.title,
        description: page.description,
        fragment: fragmentOf(route, html),
        toc: page.toc,
        sidebar: page.sidebar,
        breadcrumbs: [{ label: page.title }],
        ...(previous ? { previous } : {}),
        ...(next ? { next } : {}),
        version,
      },
    },
  };
}
