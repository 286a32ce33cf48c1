import { encode } from 'micromark-util-encode';
import { renderMarkdown } from '../../markdown.ts';

/** Maximum number of elements. A larger document is shown as Markdown source, so that the page stays fast. */
export const maxElements = 1500;

/** Removes the first `#` heading, which would repeat the page's title. */
const withoutTitle = (text: string): string => text.replace(/^\uFEFF?\s*# [^\n]*(?:\n|$)/, '');

/**
 * Resolves an address of the document at `base`. Returns a path for addresses of this site (`origin`), and undefined
 * for `javascript:`, `data:` and other schemes.
 */
function safeAddress(address: string, isImage: boolean, base: string, origin: string): string | undefined {
  if (!URL.canParse(address, base)) return undefined;
  const url = new URL(address, base);
  if (!['https:', 'http:', ...(isImage ? [] : ['mailto:'])].includes(url.protocol)) return undefined;
  return url.origin === origin ? url.pathname + url.search + url.hash : url.href;
}

/**
 * Converts the Markdown of announcements to safe HTML, without the document's title. The size of the result is
 * limited, the time is not (22 s for 24 KB of `*a_`): call it in a worker that can be terminated.
 */
export function renderAnnouncements(document: string, base: string, origin: string): string {
  const text = withoutTitle(document);
  const html = renderMarkdown(text, {
    // The page already has an h1.
    heading: (level) => Math.max(2, level),
    address: (address, isImage) => safeAddress(address, isImage, base, origin),
  });
  const elements = html.match(/<[a-z]/g)?.length ?? 0;
  return (elements > maxElements ? `<pre tabindex="0"><code>${encode(text)}</code></pre>` : html)
    .replaceAll('<pre ', '<pre class="code code__pre" ')
    .trim();
}
