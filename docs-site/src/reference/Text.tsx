import type { ReactElement } from 'react';
import type { View } from './context';

const oneParagraph = /^<p>((?:(?!<\/?p>)[\s\S])*)<\/p>\s*$/;

/** A description. A single paragraph becomes a `p`, which keeps the page small: a page has up to 300 descriptions. */
export function Text({
  view,
  text,
  className,
}: {
  readonly view: View;
  readonly text: string | undefined;
  readonly className: string;
}): ReactElement | null {
  if (!text?.trim()) return null;
  const html = view.html(text);
  const inner = oneParagraph.exec(html)?.[1];
  const Tag = inner === undefined ? 'div' : 'p';
  // biome-ignore lint/security/noDangerouslySetInnerHtml: safe HTML of src/markdown.ts
  return <Tag className={className} dangerouslySetInnerHTML={{ __html: inner ?? html }} />;
}
