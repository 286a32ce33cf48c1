import { createElement, Fragment, type ReactNode } from 'react';
import type { Inline } from './inline';
import { type Block, parse } from './parse';

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
 * Markdown from elsewhere → React elements. There is no way from its text to HTML: only the elements named here are
 * made, HTML in it is shown as text, and addresses pass a list of schemes. `base` is the document's own address,
 * `origin` the page's.
 */
export function renderAnnouncements(text: string, base: string, origin: string): ReactNode {
  // Spread children need no keys: the document is rendered once and never reordered.
  const make = (
    tag: string | typeof Fragment,
    children: readonly ReactNode[],
    props: object | null = null,
  ): ReactNode => createElement(tag, props, ...children);

  const inline = (node: Inline): ReactNode => {
    const inside = () => (node.children ?? []).map(inline);
    switch (node.type) {
      case 'emphasis':
        return make('em', inside());
      case 'strong':
        return make('strong', inside());
      case 'delete':
        return make('del', inside());
      case 'inlineCode':
        return <code>{node.value}</code>;
      case 'break':
        return <br />;
      case 'link': {
        const address = safeAddress(node.url ?? '', base, origin);
        if (!address) return make(Fragment, inside());
        const isAway = !address.startsWith('/');
        return make('a', inside(), {
          href: address,
          ...(isAway ? { target: '_blank', rel: 'noopener noreferrer' } : {}),
        });
      }
      case 'image': {
        const address = safeAddress(node.url ?? '', base, origin, true);
        return address ? <img src={address} alt={node.value ?? ''} loading="lazy" /> : node.value;
      }
      default:
        return node.value;
    }
  };
  const row = (cells: readonly (readonly Inline[])[], cell: 'th' | 'td'): ReactNode =>
    make(
      'tr',
      cells.map((one) => make(cell, one.map(inline))),
    );
  const render = (block: Block): ReactNode => {
    switch (block.type) {
      case 'paragraph':
        return make('p', block.content.map(inline));
      // The page has its h1.
      case 'heading':
        return make(`h${Math.max(2, block.depth)}`, block.content.map(inline));
      case 'code':
        return (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a block that scrolls must be reachable by keyboard
          <pre className="code code__pre" tabIndex={0}>
            <code>{block.value}</code>
          </pre>
        );
      case 'rule':
        return <hr />;
      case 'quote':
        return make('blockquote', block.blocks.map(render));
      case 'list': {
        const items = block.items.map((one) => make('li', one.map(render)));
        return block.start === undefined ? make('ul', items) : make('ol', items, { start: block.start });
      }
      case 'table': {
        const [head, ...rows] = block.rows;
        return (
          <div className="table">
            <table>
              <thead>{row(head ?? [], 'th')}</thead>
              {make(
                'tbody',
                rows.map((one) => row(one, 'td')),
              )}
            </table>
          </div>
        );
      }
    }
  };
  return make(Fragment, parse(text).map(render));
}

/** The document's own first `#` heading would repeat the page's title. */
export const withoutTitle = (text: string): string => text.replace(/^\uFEFF?\s*# [^\n]*(?:\n|$)/, '');
