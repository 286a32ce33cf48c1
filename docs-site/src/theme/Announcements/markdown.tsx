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
  const tree = fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }) as unknown as Node;
  const definitions = new Map((tree.children ?? []).filter((one) => one.type === 'definition').map((one) => [one.identifier, one.url ?? '']));
  const all = (nodes: readonly Node[] | undefined): ReactNode[] => (nodes ?? []).map((node, index) => <Fragment key={`${node.type}-${index}`}>{render(node)}</Fragment>);
  const link = (url: string, children: ReactNode): ReactNode => {
    const address = safeAddress(url, base);
    if (!address) return children;
    const away = new URL(address, base).origin !== new URL(base).origin;
    return (
      <a href={address} {...(away ? { target: '_blank', rel: 'noopener noreferrer' } : {})}>
        {children}
      </a>
    );
  };
  const render = (node: Node): ReactNode => {
    const tag = simple[node.type];
    if (tag) return createElement(tag, null, ...all(node.children));
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
        return createElement(`h${Math.min(6, Math.max(2, node.depth ?? 2))}`, null, ...all(node.children));
      case 'list':
        return node.ordered ? <ol start={node.start ?? 1}>{all(node.children)}</ol> : <ul>{all(node.children)}</ul>;
      case 'link':
        return link(node.url ?? '', all(node.children));
      case 'linkReference':
        return link(definitions.get(node.identifier) ?? '', all(node.children));
      case 'image': {
        const address = safeAddress(node.url ?? '', base, true);
        return address ? <img src={address} alt={node.alt ?? ''} loading="lazy" /> : node.alt;
      }
      case 'table': {
        const [head, ...rows] = node.children ?? [];
        return (
          <div className="table">
            <table>
              <thead>
                <tr>
                  {(head?.children ?? []).map((cell, index) => (
                    <th key={`h-${index + 1}`}>{all(cell.children)}</th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.map((row, line) => (
                  <tr key={`r-${line + 1}`}>
                    {(row.children ?? []).map((cell, index) => (
                      <td key={`c-${index + 1}`}>{all(cell.children)}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        );
      }
      case 'definition':
        return null;
      default:
        return all(node.children);
    }
  };
  return all(tree.children);
}

/** The document's own first `#` heading would repeat the page's title. */
export const withoutTitle = (text: string): string => text.replace(/^\uFEFF?\s*# [^\n]*\n/, '');
