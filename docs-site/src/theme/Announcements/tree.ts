import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmStrikethroughFromMarkdown } from 'mdast-util-gfm-strikethrough';
import { gfmTableFromMarkdown } from 'mdast-util-gfm-table';
import { cjkFriendlyExtension } from 'micromark-extension-cjk-friendly';
import { gfmStrikethroughCjkFriendly } from 'micromark-extension-cjk-friendly-gfm-strikethrough';
import { gfmTable } from 'micromark-extension-gfm-table';

/** A part of an announcement as the page shows it. */
export type Node =
  | { readonly type: 'text' | 'code' | 'inlineCode'; readonly value: string }
  | { readonly type: 'break' | 'thematicBreak' }
  | { readonly type: 'image'; readonly url: string; readonly alt: string }
  | { readonly type: 'link'; readonly url: string; readonly children: readonly Node[] }
  | { readonly type: 'heading'; readonly depth: number; readonly children: readonly Node[] }
  | { readonly type: 'list'; readonly start: number | undefined; readonly children: readonly Node[] }
  | { readonly type: Container; readonly children: readonly Node[] };

type Container =
  | 'paragraph'
  | 'blockquote'
  | 'listItem'
  | 'table'
  | 'tableRow'
  | 'tableCell'
  | 'emphasis'
  | 'strong'
  | 'delete';

/** The little of mdast that is needed here. */
interface Source {
  readonly type: string;
  readonly value?: string;
  readonly depth?: number;
  readonly ordered?: boolean | null;
  readonly start?: number | null;
  readonly url?: string;
  readonly alt?: string | null;
  readonly identifier?: string;
  readonly children?: readonly Source[];
  readonly position: {
    readonly start: { readonly offset: number };
    readonly end: { readonly offset: number };
  };
}

/** What goes beyond these limits is shown as its markdown: the page stays quick, whatever comes. */
export const mostElements = 1500;
/** Quotes, lists, marks and links within each other. */
export const deepest = 8;

/** HTML is text, and markdown within it stays markdown. */
const asText = { disable: { null: ['htmlFlow', 'htmlText'] } };

/** GFM's own rule takes Japanese that follows an address without a space for a part of it. */
const bareAddress = /(?<![\w/])https?:\/\/[!#-;=?-_a-~]{1,1000}/gi;

/** What ends the sentence, or a parenthesis around the address, is no part of it. */
function endOfAddress(found: string): number {
  let unopened = found.split(')').length - found.split('(').length;
  let { length } = found;
  for (; ; length--) {
    const last = found[length - 1] ?? '';
    if (last === ')' && unopened > 0) unopened--;
    else if (!/[?!.,:;*_~'"`[\]]/.test(last)) return length;
  }
}

/** Of two definitions with one name the first counts, also where it stands in a quote. */
function definitionsOf(root: Source): Map<string, string> {
  const found = new Map<string, string>();
  const stack = [root];
  for (let node = stack.pop(); node; node = stack.pop()) {
    const { type, identifier = '', url = '', children = [] } = node;
    if (type === 'definition' && !found.has(identifier)) found.set(identifier, url);
    for (const child of children.toReversed()) stack.push(child);
  }
  return found;
}

/** The document's own first `#` heading would repeat the page's title. */
const withoutTitle = (text: string): string => text.replace(/^\uFEFF?\s*# [^\n]*(?:\n|$)/, '');

/**
 * Markdown → what the page shows of it, without the document's own title. The time that a hostile document takes has
 * no useful limit (22 s for 24 KB of `*a_`), the result has: call it where it can be ended.
 */
export function readAnnouncements(document: string): Node[] {
  const text = withoutTitle(document);
  const root = fromMarkdown(text, {
    extensions: [gfmTable(), cjkFriendlyExtension(), gfmStrikethroughCjkFriendly(), asText],
    mdastExtensions: [gfmTableFromMarkdown(), gfmStrikethroughFromMarkdown()],
  }) as unknown as Source;
  const definitions = definitionsOf(root);

  let left = mostElements;
  const take = (count: number): boolean => {
    const fits = count <= left;
    left = fits ? left - count : 0;
    return fits;
  };
  const sourceOf = (first: Source, last = first): Node => ({
    type: 'text',
    value: text.slice(first.position.start.offset, last.position.end.offset),
  });

  /** Text grows where it stands, so that there are at most two of its nodes for an element. */
  const add = (nodes: Node[], node: Node): void => {
    const last = nodes.at(-1);
    if (node.type !== 'text' || last?.type !== 'text') nodes.push(node);
    else nodes[nodes.length - 1] = { type: 'text', value: last.value + node.value };
  };
  const addText = (nodes: Node[], value: string): void => {
    let end = 0;
    for (const { 0: found, index } of value.matchAll(bareAddress)) {
      if (!take(1)) break;
      const url = found.slice(0, endOfAddress(found));
      if (index > end) add(nodes, { type: 'text', value: value.slice(end, index) });
      add(nodes, { type: 'link', url, children: [{ type: 'text', value: url }] });
      end = index + url.length;
    }
    if (end < value.length) add(nodes, { type: 'text', value: value.slice(end) });
  };

  const phrase = (node: Source, level: number, inLink: boolean): Node => {
    const { type, value = '', identifier = '', alt, url = definitions.get(identifier) ?? '' } = node;
    const inside = (within = inLink) => phrases(node.children, level + 1, within);
    switch (type) {
      case 'break':
        return { type };
      case 'inlineCode':
        return { type, value };
      case 'emphasis':
      case 'strong':
      case 'delete':
        return { type, children: inside() };
      case 'link':
      case 'linkReference':
        return { type: 'link', url, children: inside(true) };
      case 'image':
      case 'imageReference':
        return { type: 'image', url, alt: alt ?? '' };
      default:
        return sourceOf(node);
    }
  };
  const phrases = (nodes: readonly Source[] = [], level = 0, inLink = false): Node[] => {
    const made: Node[] = [];
    for (const node of nodes) {
      if (node.type === 'text' && !inLink) addText(made, node.value ?? '');
      else if (node.type === 'text') add(made, { type: 'text', value: node.value ?? '' });
      else add(made, level < deepest && take(1) ? phrase(node, level, inLink) : sourceOf(node));
    }
    return made;
  };

  const flow = (node: Source, level: number): Node => {
    const { type, value = '', depth = 1, ordered, start, children = [] } = node;
    const isTooDeep = (type === 'blockquote' || type === 'list') && level >= deepest;
    if (isTooDeep) return { type: 'paragraph', children: [sourceOf(node)] };
    switch (type) {
      case 'thematicBreak':
        return { type };
      case 'code':
        return { type, value };
      case 'heading':
        return { type, depth, children: phrases(children, level) };
      case 'blockquote':
        return { type, children: flows(children, level + 1) };
      case 'list':
        return {
          type,
          start: ordered ? (start ?? 1) : undefined,
          children: children.map((item) => ({
            type: 'listItem',
            children: flows(item.children, level + 1),
          })),
        };
      case 'table':
        return {
          type,
          children: children.map((row) => ({
            type: 'tableRow',
            children: (row.children ?? []).map((cell) => ({
              type: 'tableCell',
              children: phrases(cell.children, level),
            })),
          })),
        };
      case 'paragraph':
        return { type, children: phrases(children, level) };
      default:
        return { type: 'paragraph', children: [sourceOf(node)] };
    }
  };
  /** A list and a table are taken with all that they are made of, or not at all. */
  const sizeOf = ({ type, children = [] }: Source): number => {
    if (type === 'list') return 1 + children.length;
    if (type === 'table') return children.reduce((sum, row) => sum + 1 + (row.children?.length ?? 0), 1);
    return 1;
  };
  const flows = (nodes: readonly Source[] = [], level = 0): Node[] => {
    const made: Node[] = [];
    for (const node of nodes) {
      if (node.type === 'definition') continue;
      if (!take(sizeOf(node))) {
        made.push({ type: 'paragraph', children: [sourceOf(node, nodes.at(-1))] });
        break;
      }
      made.push(flow(node, level));
    }
    return made;
  };
  return flows(root.children);
}
