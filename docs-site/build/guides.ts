import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ContentError, type FrontMatter, readFrontMatter } from './front-matter.ts';
import type { Highlight } from './highlight.ts';
import { type Compiled, compileGuide, fence } from './mdx.ts';

export interface Guide extends Compiled {
  readonly file: string;
  readonly route: string;
  readonly data: FrontMatter;
  readonly source: string;
}

/** `docs/introduction/about.mdx` → `/docs/introduction/about`, `docs/index.mdx` → `/docs`. */
export const routeOf = (file: string): string => `/${file.replace(/\.mdx$/, '').replace(/(^|\/)index$/, '')}`;

/** Loads all guides below `content` in the order of the sidebar; drafts only if `drafts` is set. */
export async function loadGuides(content: string, highlight: Highlight, drafts: boolean): Promise<Guide[]> {
  const files = readdirSync(join(content, 'docs'), { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() && one.name.endsWith('.mdx'))
    .map((one) => relative(content, join(one.parentPath, one.name)))
    .sort();
  const guides = await Promise.all(
    files.map(async (file): Promise<Guide> => {
      const source = readFileSync(join(content, file), 'utf8');
      const { data, body } = readFrontMatter(file, source);
      return { file, route: routeOf(file), data, source, ...(await compileGuide(file, body, highlight)) };
    }),
  );
  const positions = new Map<string, string>();
  for (const { file, data, route, source } of guides) {
    const folder = `${route.slice(0, route.lastIndexOf('/'))}#${data.position}`;
    const other = positions.get(folder);
    if (other) {
      const line = source.split('\n').findIndex((one) => one.startsWith('position:')) + 1;
      throw new ContentError(file, line, `position ${data.position} is taken by ${other}`);
    }
    positions.set(folder, file);
  }
  return guides.filter((one) => drafts || !one.data.draft).sort((a, b) => a.data.position - b.data.position);
}

const attributesOf = (tag: string): Record<string, string> =>
  Object.fromEntries([...tag.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));

/** Markdown of the components of src/content that have text attributes. Other components only wrap their content. */
const asMarkdown: Readonly<
  Record<string, (attributes: Record<string, string>, words: AdmonitionTitles) => string>
> = {
  Card: ({ to, title }) => `### [${title}](${to})`,
  Admonition: ({ type = 'note', title }, words) => `**${title ?? words[type as keyof AdmonitionTitles]}**`,
  Figure: ({ src, alt, caption }) => `![${alt}](${src})${caption ? `\n\n${caption}` : ''}`,
};

/** Default titles of admonitions. */
export type AdmonitionTitles = Readonly<Record<'note' | 'tip' | 'warning' | 'danger', string>>;

function proseOf(text: string, words: AdmonitionTitles): string {
  return (
    text
      // The title of a drawing replaces the drawing.
      .replace(/^[ \t]*<svg[\s\S]*?<\/svg>/gm, (svg) => /<title[^>]*>([^<]*)<\/title>/.exec(svg)?.[1] ?? '')
      .replace(/^[ \t]*<figcaption>([\s\S]*?)<\/figcaption>/gm, '\n$1')
      .replace(/^<summary>([\s\S]*?)<\/summary>/gm, '\n**$1**\n')
      .replace(/^[ \t]*<\/?(?:figure|details)(?:\s[^>]*)?>[ \t]*$/gm, '')
      .replace(/^<\/?([A-Z]\w*)((?:\s[^>]*?)?)\/?>[ \t]*$/gm, (tag, name: string, attributes: string) =>
        tag.startsWith('</') ? '' : (asMarkdown[name]?.(attributesOf(attributes), words) ?? ''),
      )
      .replace(/\n{3,}/g, '\n\n')
  );
}

/** The Markdown version of a guide: its source without front matter and components, with example values. */
export function markdownOf(
  { data, source }: Pick<Guide, 'data' | 'source'>,
  values: (text: string) => string,
  words: AdmonitionTitles,
): string {
  const body = source.replace(/^---[\s\S]*?\n---\n/, '');
  let markdown = '';
  let at = 0;
  for (const { 0: block, index } of body.matchAll(fence)) {
    markdown += proseOf(body.slice(at, index), words) + block.replace(/^(`{3,}\w+) .*/, '$1');
    at = index + block.length;
  }
  markdown += proseOf(body.slice(at), words);
  return `# ${data.title}\n\n${data.description}\n\n${values(markdown).trim()}\n`;
}
