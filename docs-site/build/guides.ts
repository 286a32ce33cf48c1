import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ContentError, type FrontMatter, readFrontMatter } from './front-matter.ts';
import type { Highlight } from './highlight.ts';
import { type Compiled, compileGuide } from './mdx.ts';

export interface Guide extends Compiled {
  readonly file: string;
  readonly route: string;
  readonly data: FrontMatter;
  readonly source: string;
}

/** `docs/introduction/about.mdx` → `/docs/introduction/about`, `docs/index.mdx` → `/docs`. */
export const routeOf = (file: string): string => `/${file.replace(/\.mdx$/, '').replace(/(^|\/)index$/, '')}`;

/** All guides below `content`, drafts only where they are asked for, in the order of the sidebar. */
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

const componentLine = /^<\/?[A-Z][\w]*(?:\s[^>]*)?\/?>\s*$/gm;

/** The `.md` twin of a guide: its source without front matter and components, values filled with examples. */
export function twinOf({ data, source }: Guide, values: (text: string) => string): string {
  const body = source
    .replace(/^---[\s\S]*?\n---\n/, '')
    .replace(componentLine, '')
    .replace(/^(#{2,6} .*?)\s*\{#[^}]+\}\s*$/gm, '$1')
    .replace(/^(```\w+) .*$/gm, '$1')
    .replace(/\n{3,}/g, '\n\n');
  return `# ${data.title}\n\n${data.description}\n\n${values(body).trim()}\n`;
}
