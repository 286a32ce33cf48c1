import { micromark, parse, postprocess, preprocess } from 'micromark';
import { cjkFriendlyExtension } from 'micromark-extension-cjk-friendly';
import { gfmStrikethroughCjkFriendly } from 'micromark-extension-cjk-friendly-gfm-strikethrough';
import { gfmAutolinkLiteral, gfmAutolinkLiteralHtml } from 'micromark-extension-gfm-autolink-literal';
import { gfmStrikethroughHtml } from 'micromark-extension-gfm-strikethrough';
import { gfmTable, gfmTableHtml } from 'micromark-extension-gfm-table';

/** Treats HTML as text. Markdown inside it is still rendered. */
const withoutHtml = { disable: { null: ['htmlFlow', 'htmlText'] } };
const extensions = [
  ...[gfmTable(), gfmAutolinkLiteral(), cjkFriendlyExtension(), gfmStrikethroughCjkFriendly()],
  withoutHtml,
];
const htmlExtensions = [gfmTableHtml(), gfmAutolinkLiteralHtml(), gfmStrikethroughHtml()];

export interface MarkdownOptions {
  /** Maps the level of a heading, 1 to 6. */
  readonly heading?: (level: number) => number;
  /** Maps an address. If it returns undefined, only the text of the link or the `alt` of the image is written. */
  readonly address?: (address: string, isImage: boolean) => string | undefined;
}

const safeAddress = (address: string): string | undefined =>
  /^(?:https?:\/\/|mailto:|\/(?!\/)|#)/i.test(address) ? address : undefined;

const attribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

/** A bare address in a Japanese sentence, without a space before the rest of the sentence. */
const bareAddress = /^(https?:\/\/[!-;=?-~]+)([^\p{ASCII}].*)$/isu;

/**
 * Converts Markdown to safe HTML. Links to other sites open in a new tab. The time is quadratic for hostile texts: run
 * untrusted texts in a worker that can be terminated.
 */
export function renderMarkdown(
  text: string,
  { heading = (level) => level, address = safeAddress }: MarkdownOptions = {},
): string {
  const written = (href: string, isImage: boolean) => {
    const found = href === '' ? undefined : address(href.replaceAll('&amp;', '&'), isImage);
    return found === undefined ? undefined : attribute(found);
  };
  const link = (whole: string, href: string, inside: string): string => {
    const [, bare = '', rest = ''] = bareAddress.exec(inside) ?? [];
    if (bare !== '' && href.startsWith(bare)) return link(whole, bare, bare) + rest;
    const found = written(href, false);
    if (found === undefined) return inside;
    const target = /^[/#]/.test(found) ? '' : ' target="_blank" rel="noopener noreferrer"';
    return `<a href="${found}"${target}>${inside}</a>`;
  };
  const image = (_: string, src: string, alt: string): string => {
    const found = written(src, true);
    return found === undefined ? alt : `<img src="${found}" alt="${alt}" loading="lazy">`;
  };
  // micromark escapes every < of the text, so all tags here are from micromark.
  return micromark(text, { extensions, htmlExtensions })
    .replace(/(<\/?h)([1-6])/g, (_, tag: string, level: string) => tag + Math.min(6, heading(Number(level))))
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replace(/<table>.*?<\/table>/gs, '<div class="table" tabindex="0">$&</div>')
    .replace(/<img src="([^"]*)" alt="([^"]*)"[^>]*>/g, image)
    .replace(/<a href="([^"]*)"[^>]*>(.*?)<\/a>/gs, link);
}

const references: Readonly<Record<string, string>> = { quot: '"', amp: '&', lt: '<', gt: '>' };

/** Text of HTML from `renderMarkdown`, in one line. */
export const plainText = (html: string): string =>
  html
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(\w+);/g, (_, name: string) => references[name] ?? '')
    .replace(/\s+/g, ' ')
    .replace(/([、。]) | (?=[、。])/g, '$1')
    .trim();

/** Tokens of one type: start and end offsets, and the type of the parent token. */
function tokensOf(text: string, type: string): { from: number; to: number; within: string }[] {
  const found: { from: number; to: number; within: string }[] = [];
  const open: string[] = [];
  const chunks = preprocess()(text, undefined, true);
  for (const [event, token] of postprocess(parse({ extensions }).document().write(chunks))) {
    if (event === 'exit') open.pop();
    else {
      if (token.type === type)
        found.push({ from: token.start.offset, to: token.end.offset, within: open.at(-1) ?? '' });
      open.push(token.type);
    }
  }
  return found;
}

/** Line breaks to remove: between Japanese characters or after punctuation, where browsers would show a space. */
export const joinedBreak =
  /(?<=[^\p{ASCII}\p{S}])\n[ \t]*(?=[^\p{ASCII}\p{S}])|(?<=[、。」）])\n[ \t]*(?!>)/gu;

/** Removes line breaks inside paragraphs that would show as spaces in Japanese text. */
export function joinLines(text: string): string {
  let joined = '';
  let at = 0;
  for (const { from, to } of tokensOf(text, 'paragraph')) {
    joined += text.slice(at, from) + text.slice(from, to).replace(joinedBreak, '');
    at = to;
  }
  return joined + text.slice(at);
}

/** Splits Markdown at its `##` headings. The first part is the text before the first heading, with the title ''. */
export function divideByHeadings(text: string): { readonly title: string; readonly text: string }[] {
  const headings = tokensOf(text, 'atxHeading')
    .map((one) => ({ ...one, title: /^##\s+(.+?)\s*#*$/.exec(text.slice(one.from, one.to))?.[1] }))
    .filter((one) => one.within === '' && one.title !== undefined);
  return [{ title: '', to: 0 }, ...headings].map(({ title = '', to }, index) => ({
    title,
    text: text.slice(to, headings[index]?.from).trim(),
  }));
}
