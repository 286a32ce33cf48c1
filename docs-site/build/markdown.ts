import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { escapeHtml } from './highlight.ts';
import { joinLines, type Node } from './mdx.ts';

/** Addresses that a description may link to; anything else is shown as text. */
const safeAddress = /^(?:https?:\/\/|mailto:|\/(?!\/)|#)/i;

const tags: Readonly<Record<string, string>> = {
  paragraph: 'p',
  emphasis: 'em',
  strong: 'strong',
  delete: 'del',
  blockquote: 'blockquote',
  listItem: 'li',
};

/**
 * Markdown of an OpenAPI description → safe HTML: only the elements named here come out, and HTML in the text is shown
 * as text. `shift` lowers headings, so that they fit under the heading that they stand in.
 */
export function renderMarkdown(text: string, shift = 0): string {
  const tree = fromMarkdown(text, {
    extensions: [gfm()],
    mdastExtensions: [gfmFromMarkdown()],
  }) as unknown as Node;
  return renderAll(tree.children, shift);
}

const renderAll = (nodes: readonly Node[] | undefined, shift: number): string =>
  (nodes ?? []).map((one) => render(one, shift)).join('');

interface Fields {
  depth?: number;
  ordered?: boolean | null;
  url?: string;
  spread?: boolean | null;
}

function render(node: Node, shift: number): string {
  const { depth = 2, ordered, url = '', spread } = node as Fields;
  const inside = () => renderAll(node.children, shift);
  const tag = tags[node.type];
  if (node.type === 'listItem' && !spread)
    return `<li>${(node.children ?? []).map((one) => (one.type === 'paragraph' ? renderAll(one.children, shift) : render(one, shift))).join('')}</li>`;
  if (tag) return `<${tag}>${inside()}</${tag}>`;
  switch (node.type) {
    case 'text':
      return escapeHtml(joinLines(node.value ?? ''));
    case 'html':
      return escapeHtml(node.value ?? '');
    case 'inlineCode':
      return `<code>${escapeHtml(node.value ?? '')}</code>`;
    case 'code':
      return `<pre tabindex="0"><code>${escapeHtml(node.value ?? '')}</code></pre>`;
    case 'break':
      return '<br>';
    case 'thematicBreak':
      return '<hr>';
    case 'heading': {
      const level = Math.min(6, depth + shift);
      return `<h${level}>${inside()}</h${level}>`;
    }
    case 'list':
      return ordered ? `<ol>${inside()}</ol>` : `<ul>${inside()}</ul>`;
    case 'link':
      return safeAddress.test(url) ? `<a href="${escapeHtml(url)}">${inside()}</a>` : inside();
    case 'table': {
      const [head, ...rows] = node.children ?? [];
      const row = (one: Node | undefined, cell: 'th' | 'td') =>
        `<tr>${(one?.children ?? []).map((c) => `<${cell}>${renderAll(c.children, shift)}</${cell}>`).join('')}</tr>`;
      return `<div class="table" tabindex="0"><table><thead>${row(head, 'th')}</thead><tbody>${rows.map((one) => row(one, 'td')).join('')}</tbody></table></div>`;
    }
    default:
      return inside();
  }
}
