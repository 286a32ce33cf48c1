import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { createElement, Fragment, type ReactNode } from 'react';

/** The little of mdast that is needed here. */
interface Node {
  readonly type: string;
  readonly value?: string;
  readonly depth?: number;
  readonly ordered?: boolean | null;
  readonly start?: number | null;
  readonly url?: string;
  readonly alt?: string | null;
  readonly identifier?: string;
  readonly children?: readonly Node[];
}

const simple: Readonly<Record<string, string>> = {
  paragraph: 'p',
  emphasis: 'em',
  strong: 'strong',
  delete: 'del',
  blockquote: 'blockquote',
  listItem: 'li',
};

/** An address of the web, of mail, or of this site; `javascript:`, `data:` and the rest are not followed. */
export function safeAddress(address: string, base: string, image = false): string | undefined {
  try {
    const url = new URL(address, base);
    const known = image ? ['https:', 'http:'] : ['https:', 'http:', 'mailto:'];
    return known.includes(url.protocol) ? address : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Markdown from elsewhere → React elements. There is no way from its text to HTML: only the elements named here are
 * made, HTML in it is shown as text, and addresses pass a list of schemes.
 */
export function renderAnnouncements(text: string, base: string): ReactNode {
  const tree = fromMarkdown(text, {
    extensions: [gfm()],
    mdastExtensions: [gfmFromMarkdown()],
  }) as unknown as Node;
  const definitions = new Map(
    (tree.children ?? [])
      .filter((one) => one.type === 'definition')
      .map((one) => [one.identifier, one.url ?? '']),
  );
  // Spread children need no keys: the document is rendered once and never reordered.
  const all = (nodes: readonly Node[] | undefined): ReactNode[] => (nodes ?? []).map(render);
  const make = (
    tag: string | typeof Fragment,
    nodes: readonly Node[] | undefined,
    props: object | null = null,
  ): ReactNode => createElement(tag, props, ...all(nodes));
  const link = (url: string, node: Node): ReactNode => {
    const address = safeAddress(url, base);
    if (!address) return make(Fragment, node.children);
    const away = new URL(address, base).origin !== new URL(base).origin;
    return make('a', node.children, {
      href: address,
      ...(away ? { target: '_blank', rel: 'noopener noreferrer' } : {}),
    });
  };
  const row = (node: Node | undefined, cell: 'th' | 'td'): ReactNode =>
    createElement('tr', null, ...(node?.children ?? []).map((one) => make(cell, one.children)));
  const render = (node: Node): ReactNode => {
    const tag = simple[node.type];
    if (tag) return make(tag, node.children);
    switch (node.type) {
      case 'text':
      case 'html':
        return node.value;
      case 'inlineCode':
        return <code>{node.value}</code>;
      case 'code':
        return (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a block that scrolls must be reachable by keyboard
          <pre className="code code__pre" tabIndex={0}>
            <code>{node.value}</code>
          </pre>
        );
      case 'break':
        return <br />;
      case 'thematicBreak':
        return <hr />;
      // The page has its h1.
      case 'heading':
        return make(`h${Math.min(6, Math.max(2, node.depth ?? 2))}`, node.children);
      case 'list':
        return node.ordered
          ? make('ol', node.children, { start: node.start ?? 1 })
          : make('ul', node.children);
      case 'link':
        return link(node.url ?? '', node);
      case 'linkReference':
        return link(definitions.get(node.identifier) ?? '', node);
      case 'image': {
        const address = safeAddress(node.url ?? '', base, true);
        return address ? <img src={address} alt={node.alt ?? ''} loading="lazy" /> : node.alt;
      }
      case 'table': {
        const [head, ...rows] = node.children ?? [];
        return (
          <div className="table">
            <table>
              <thead>{row(head, 'th')}</thead>
              {createElement('tbody', null, ...rows.map((one) => row(one, 'td')))}
            </table>
          </div>
        );
      }
      case 'definition':
        return null;
      default:
        return make(Fragment, node.children);
    }
  };
  return make(Fragment, tree.children);
}

/** The document's own first `#` heading would repeat the page's title. */
export const withoutTitle = (text: string): string => text.replace(/^\uFEFF?\s*# [^\n]*\n/, '');
