import { encode } from 'micromark-util-encode';
import { renderMarkdown } from '../../markdown.ts';

/** Maximum number of elements: a document with more is shown as its markdown, so that the page stays quick. */
export const mostElements = 1500;

/** The document's own first `#` heading would repeat the page's title. */
const withoutTitle = (text: string): string => text.replace(/^\uFEFF?\s*# [^\n]*(?:\n|$)/, '');

/**
 * Address on the page for one of the document at `base`; undefined for `javascript:`, `data:` and other schemes. On
 * this site (`origin`) it is the path alone.
 */
function safeAddress(address: string, isImage: boolean, base: string, origin: string): string | undefined {
  if (!URL.canParse(address, base)) return undefined;
  const url = new URL(address, base);
  if (!['https:', 'http:', ...(isImage ? [] : ['mailto:'])].includes(url.protocol)) return undefined;
  return url.origin === origin ? url.pathname + url.search + url.hash : url.href;
}

/**
 * Markdown of announcements → safe HTML, without the document's own title. The time that a hostile document takes has
 * no useful limit (22 s for 24 KB of `*a_`), the result has: call it where it can be ended.
 */
export function renderAnnouncements(document: string, base: string, origin: string): string {
  const text = withoutTitle(document);
  const html = renderMarkdown(text, {
    // The page has its h1.
    heading: (rank) => Math.max(2, rank),
    address: (address, isImage) => safeAddress(address, isImage, base, origin),
  });
  const elements = html.match(/<[a-z]/g)?.length ?? 0;
  return (elements > mostElements ? `<pre tabindex="0"><code>${encode(text)}</code></pre>` : html)
    .replaceAll('<pre ', '<pre class="code code__pre" ')
    .trim();
}
