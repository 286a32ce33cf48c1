import { compile, run } from '@mdx-js/mdx';
import GithubSlugger from 'github-slugger';
import type { FunctionComponent } from 'react';
import { Fragment, jsx, jsxs } from 'react/jsx-runtime';
import remarkGfm from 'remark-gfm';
import { joinedBreak } from '../src/markdown.ts';
import type { TocItem } from '../src/types.ts';
import { ContentError } from './front-matter.ts';
import { checkGuide } from './guide-rules.ts';
import type { Highlight } from './highlight.ts';

/** The part of hast and mdast that is used here. */
export interface Node {
  type: string;
  name?: string;
  tagName?: string;
  value?: string;
  meta?: string | null;
  lang?: string | null;
  data?: Record<string, unknown>;
  properties?: Record<string, unknown>;
  attributes?: unknown[];
  children?: Node[];
  position?: { start: { line: number }; end: { line: number } };
}

export interface Section {
  readonly id: string;
  readonly text: string;
  readonly level: number;
  /** Plain text under the heading, without code. */
  body: string;
}

export interface Compiled {
  readonly Content: FunctionComponent<{ components: Record<string, unknown> }>;
  readonly toc: readonly TocItem[];
  /** The first section has no id: it is the text before the first heading. */
  readonly sections: readonly Section[];
}

const joinLines = (text: string): string => text.replace(joinedBreak, '');

export const textOf = (node: Node): string =>
  node.value !== undefined && node.type !== 'mdxFlowExpression' && node.type !== 'mdxTextExpression'
    ? node.value
    : (node.children ?? []).map(textOf).join('');

const stableId = /\s*\{#([\p{L}\p{N}_.-]+)\}\s*$/u;

/** A fenced code block. */
export const fence = /^(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1[ \t]*$/gm;

/** Escapes `{#id}` in headings outside code: MDX would parse it as an expression. */
const escapeIds = (source: string): string =>
  source.replace(new RegExp(`${fence.source}|^#{2,6} .*$`, 'gm'), (found) =>
    found.startsWith('#') ? found.replace('{#', '\\{#') : found,
  );

/** `title="x" sample="y" {1,3-4}` → attributes. */
export function readMeta(meta: string): { attributes: Record<string, string>; marked: Set<number> } {
  const attributes: Record<string, string> = {};
  const marked = new Set<number>();
  const rest = meta
    .replace(/([\w-]+)="([^"]*)"/g, (_, name: string, value: string) => {
      attributes[name] = value;
      return '';
    })
    .replace(/\{([\d,-]+)\}/g, (_, ranges: string) => {
      for (const range of ranges.split(',')) {
        const [from, to = from] = range.split('-').map(Number);
        for (let line = from ?? 0; line <= (to ?? 0); line++) marked.add(line);
      }
      return '';
    });
  if (rest.trim() !== '')
    throw new Error(`cannot parse "${rest.trim()}" after the language of the code block`);
  return { attributes, marked };
}

const codeKeys = new Set(['title', 'sample', 'norun', 'alone', 'output', 'any']);

function codeBlock(file: string, node: Node, highlight: Highlight): Node {
  const line = node.position?.start.line;
  try {
    const { attributes, marked } = readMeta(node.meta ?? '');
    for (const key of Object.keys(attributes)) {
      if (!codeKeys.has(key))
        throw new Error(`unknown key "${key}" on a code block (known: ${[...codeKeys].join(', ')})`);
      if (attributes[key] === '') throw new Error(`"${key}" of the code block is empty`);
    }
    const language = node.lang ?? 'text';
    const props: Record<string, string> = {
      language,
      html: highlight(node.value ?? '', language, { marked }),
    };
    if (attributes['title']) props['title'] = attributes['title'];
    if (attributes['output']) props['output'] = 'true';
    return {
      type: 'mdxJsxFlowElement',
      name: 'CodeBlock',
      attributes: Object.entries(props).map(([name, value]) => ({ type: 'mdxJsxAttribute', name, value })),
      children: [],
      position: node.position,
    };
  } catch (error) {
    throw new ContentError(file, line, (error as Error).message);
  }
}

const attributeOf = (node: Node, name: string): string | undefined =>
  (node.attributes as { name?: string; value?: string }[] | undefined)?.find((one) => one.name === name)
    ?.value;

type Source = { readonly lineNumber?: number } | undefined;

/** JSX runtime for one guide. Adds file and line to errors that components throw. */
function jsxOf(file: string) {
  return (type: unknown, props: object, key: string | undefined, isStatic: boolean, source: Source) => {
    const make = isStatic ? jsxs : jsx;
    if (typeof type !== 'function') return make(type as 'p', props, key);
    const Component = (given: object) => {
      try {
        return type(given);
      } catch (error) {
        if (error instanceof ContentError) throw error;
        throw new ContentError(file, source?.lineNumber, (error as Error).message);
      }
    };
    return make(Component, props, key);
  };
}

/** Wraps each h2 and its content in a section: the browser lays out only sections near the viewport (prose.css). */
function wrapSections(tree: Node): void {
  const wrapped: Node[] = [];
  let section: Node[] | undefined;
  for (const child of tree.children ?? []) {
    if (child.type === 'heading' && (child as { depth?: number }).depth === 2) {
      section = [];
      const data = { hName: 'section', hProperties: { className: ['prose-part'] } };
      wrapped.push({ type: 'section', data, children: section });
    }
    (section ?? wrapped).push(child);
  }
  tree.children = wrapped;
}

/** Compiles one guide: adds ids to headings and highlights code. Throws a ContentError. */
export async function compileGuide(file: string, body: string, highlight: Highlight): Promise<Compiled> {
  const sections: Section[] = [{ id: '', text: '', level: 1, body: '' }];
  const visit = (node: Node, slugger: GithubSlugger, seen: Map<string, number>) => {
    node.children = node.children?.map((child) =>
      child.type === 'code' ? codeBlock(file, child, highlight) : child,
    );
    for (const child of node.children ?? []) {
      if (child.type === 'text') child.value = joinLines(child.value ?? '');
      if (child.type === 'heading') heading(child, slugger, seen);
      else if (child.type === 'paragraph' || child.type === 'tableRow') {
        const last = sections.at(-1);
        if (last)
          last.body += `${(child.type === 'tableRow' ? (child.children ?? []).map(textOf).join(' ') : joinLines(textOf(child))).replace(/\s+/g, ' ')}\n`;
      }
      const id = attributeOf(child, 'id');
      if (id) anchor(id, child, seen);
      visit(child, slugger, seen);
    }
  };
  const anchor = (id: string, node: Node, seen: Map<string, number>) => {
    const line = node.position?.start.line;
    const before = seen.get(id);
    if (before !== undefined)
      throw new ContentError(file, line, `the anchor #${id} is already used in line ${before}`);
    seen.set(id, line ?? 0);
  };
  const heading = (node: Node, slugger: GithubSlugger, seen: Map<string, number>) => {
    const line = node.position?.start.line;
    const level = (node as { depth?: number }).depth ?? 2;
    if (level === 1) throw new ContentError(file, line, 'the h1 comes from the title: begin with ##');
    const last = node.children?.at(-1);
    const given = last?.type === 'text' ? stableId.exec(last.value ?? '') : null;
    if (last && given) last.value = (last.value ?? '').replace(stableId, '');
    const text = textOf(node).trim();
    const id = given?.[1] ?? slugger.slug(text);
    anchor(id, node, seen);
    node.data = { hProperties: { id } };
    sections.push({ id, text, level, body: '' });
  };
  let code: string;
  try {
    code = String(
      await compile(
        { value: escapeIds(body), path: file },
        {
          outputFormat: 'function-body',
          // Adds line numbers to the elements, for errors of components.
          development: true,
          remarkPlugins: [
            remarkGfm,
            () => (tree: unknown) => {
              checkGuide(file, body, tree as Node);
              visit(tree as Node, new GithubSlugger(), new Map());
              wrapSections(tree as Node);
            },
          ],
        },
      ),
    );
  } catch (error) {
    if (error instanceof ContentError) throw error;
    const { line, reason, message } = error as { line?: number; reason?: string; message: string };
    throw new ContentError(file, line, reason ?? message);
  }
  const { default: Content } = await run(code, {
    Fragment,
    jsxDEV: jsxOf(file),
    baseUrl: import.meta.url,
  } as Parameters<typeof run>[1]);
  return {
    Content: Content as Compiled['Content'],
    sections,
    toc: sections
      .filter((one): one is Section & TocItem => one.level === 2 || one.level === 3)
      .map(({ id, text, level }) => ({ id, text, level })),
  };
}
