import { resolve } from 'node:path';
import { build } from 'esbuild';
import { parseDocument } from 'htmlparser2';
import { createHighlight } from '../../build/highlight.ts';
import { type LoadedApi, loadApis } from '../../build/openapi.ts';
import { loadRenderer } from '../../build/renderer.ts';
import { readSettings } from '../../build/settings.ts';
import { exampleValues } from '../../build/values.ts';
import type { ApiPage, ApiSource, OpenApiDocument } from '../../src/reference/types.ts';

export const root = resolve(import.meta.dirname, '../..');
export const openapi = resolve(root, '../gateway/openapi');

const renderer = await loadRenderer(root);
const highlight = await createHighlight(exampleValues(readSettings({})));

export interface Rendered {
  readonly page: ApiPage;
  readonly html: string;
  readonly dom: Dom;
}

/** Bundles and loads a module of src. Node cannot load it directly, because it imports without suffixes. */
export async function loadBundled<T>(file: string): Promise<T> {
  const { outputFiles } = await build({
    entryPoints: [resolve(root, file)],
    bundle: true,
    write: false,
    format: 'esm',
  });
  return (await import(`data:text/javascript,${encodeURIComponent(outputFiles[0]?.text ?? '')}`)) as T;
}

/** Renders one document in the same way as the build. */
export function render(
  source: Omit<ApiSource, 'name'> & { name?: LoadedApi['name'] },
  others: readonly ApiSource[] = [],
): Rendered {
  const { name = 'cws_api', route, document } = source;
  const { page, html } = renderer.renderApi({
    name,
    route,
    document,
    others,
    highlight: (code, language) => highlight(code, language),
  });
  return { page, html, dom: readHtml(html) };
}

let apis: Promise<readonly LoadedApi[]> | undefined;
const rendered = new Map<string, Rendered>();

/** Returns the documents of the product, loaded in the same way as in the build. */
export const realApis = (): Promise<readonly LoadedApi[]> => {
  apis ??= loadApis(openapi);
  return apis;
};

export async function renderReal(name: LoadedApi['name']): Promise<Rendered> {
  const known = rendered.get(name);
  if (known) return known;
  const all = await realApis();
  const api = all.find((one) => one.name === name);
  if (!api) throw new Error(`no document ${name}`);
  const result = render(
    api,
    all.filter((one) => one !== api),
  );
  rendered.set(name, result);
  return result;
}

/** A document with one call `op`, with members of a test. */
export const oneCall = (
  operation: Record<string, unknown>,
  rest: Partial<OpenApiDocument> = {},
): OpenApiDocument => ({
  openapi: '3.1.0',
  info: { title: 'Test', version: '1.0.0' },
  paths: { '/v1/things': { post: { operationId: 'op', summary: 'Summary', responses: {}, ...operation } } },
  ...rest,
});

export const jsonBody = (schema: unknown, more: Record<string, unknown> = {}) => ({
  requestBody: { content: { 'application/json': { schema, ...more } } },
});

type Node = ReturnType<typeof parseDocument>['children'][number];
type Element = Extract<Node, { attribs: Record<string, string> }>;

export interface Dom {
  readonly ids: readonly string[];
  readonly elements: readonly Element[];
  byId(id: string): Element | undefined;
}

function* walk(nodes: readonly Node[]): Generator<Element> {
  for (const node of nodes) {
    if (!('attribs' in node)) continue;
    yield node;
    yield* walk(node.children as Node[]);
  }
}

export function readHtml(html: string): Dom {
  const elements = [...walk(parseDocument(html).children)];
  const byId = new Map(
    elements.flatMap((one) => (one.attribs['id'] ? [[one.attribs['id'], one] as const] : [])),
  );
  return {
    elements,
    ids: elements.flatMap((one) => one.attribs['id'] ?? []),
    byId: (id) => byId.get(id),
  };
}

/** Text of an element, including its descendants. */
export const textOf = (node: unknown): string => {
  const { data, children } = node as { data?: string; children?: unknown[] };
  return children ? children.map(textOf).join('') : (data ?? '');
};

/** Text of an element without descendants that have ids: fields, variants and statuses. */
export const ownText = (node: unknown): string => {
  const { data, children } = node as { data?: string; children?: { attribs?: Record<string, string> }[] };
  return children ? children.map((one) => (one.attribs?.['id'] ? '' : ownText(one))).join('') : (data ?? '');
};

export const linksIn = (element: Element | undefined): string[] =>
  element
    ? [...walk([element])].flatMap((one) =>
        one.name === 'a' && one.attribs['href'] ? [one.attribs['href']] : [],
      )
    : [];

/** Returns the section around the heading with this id. */
export function sectionOf(dom: Dom, id: string): Element {
  let node: Element | undefined = dom.byId(id);
  while (node && node.name !== 'section') node = (node.parent ?? undefined) as Element | undefined;
  if (!node) throw new Error(`no section around #${id}`);
  return node;
}
