import { createElement, Fragment, type ReactNode } from 'react';
import type { Node } from './tree';

const tags = {
  paragraph: 'p',
  blockquote: 'blockquote',
  listItem: 'li',
  emphasis: 'em',
  strong: 'strong',
  delete: 'del',
} as const;

/**
 * Where an address of the document leads, seen from the document; `javascript:`, `data:` and other schemes lead
 * nowhere. On this site it is the path alone.
 */
export function safeAddress(
  address: string,
  base: string,
  origin: string,
  image = false,
): string | undefined {
  const known = image ? ['https:', 'http:'] : ['https:', 'http:', 'mailto:'];
  if (!URL.canParse(address, base)) return undefined;
  const url = new URL(address, base);
  if (!known.includes(url.protocol)) return undefined;
  return url.origin === origin ? url.pathname + url.search + url.hash : url.href;
}

/**
 * Parts of a document from elsewhere → React elements. There is no way from its text to HTML: only the elements named
 * here are made, and addresses pass a list of schemes. `base` is the document's own address, `origin` the page's.
 */
export function renderAnnouncements(nodes: readonly Node[], base: string, origin: string): ReactNode {
  // Spread children need no keys: the document is rendered once and never reordered.
  const make = (
    tag: string | typeof Fragment,
    children: readonly Node[],
    props: object | null = null,
  ): ReactNode => createElement(tag, props, ...children.map(render));
  const rows = (tag: 'thead' | 'tbody', cell: 'th' | 'td', all: readonly Node[]): ReactNode =>
    createElement(
      tag,
      null,
      ...all.map((row) =>
        createElement('tr', null, ...childrenOf(row).map((one) => make(cell, childrenOf(one)))),
      ),
    );
  const render = (node: Node): ReactNode => {
    switch (node.type) {
      case 'text':
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
        return make(`h${Math.max(2, node.depth)}`, node.children);
      case 'list':
        return node.start === undefined
          ? make('ul', node.children)
          : make('ol', node.children, { start: node.start });
      case 'link': {
        const address = safeAddress(node.url, base, origin);
        if (!address) return make(Fragment, node.children);
        const isAway = !address.startsWith('/');
        return make('a', node.children, {
          href: address,
          ...(isAway ? { target: '_blank', rel: 'noopener noreferrer' } : {}),
        });
      }
      case 'image': {
        const address = safeAddress(node.url, base, origin, true);
        return address ? <img src={address} alt={node.alt} loading="lazy" /> : node.alt;
      }
      case 'table':
        return (
          <div className="table">
            <table>
              {rows('thead', 'th', node.children.slice(0, 1))}
              {rows('tbody', 'td', node.children.slice(1))}
            </table>
          </div>
        );
      case 'tableRow':
      case 'tableCell':
        return make(Fragment, node.children);
      default:
        return make(tags[node.type], node.children);
    }
  };
  return make(Fragment, nodes);
}

const childrenOf = (node: Node): readonly Node[] => ('children' in node ? node.children : []);
