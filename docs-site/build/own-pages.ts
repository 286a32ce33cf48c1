import type { ja as words } from '../src/strings/ja.ts';
import type { home as homeWords } from '../src/theme/Home/content.ts';
import type { Settings } from './settings.ts';

/** A page that Gatsby builds from src/pages, without a fragment. Sitemap and `llms.txt` list it. */
export interface OwnPage {
  readonly route: string;
  readonly title: string;
  readonly description: string;
  readonly markdown: string;
}

/** Path of the Markdown version of a route; `/index.md` for `/`. */
export const markdownFile = (route: string): string => `${route === '/' ? '/index' : route}.md`;

export function ownPages(
  home: typeof homeWords,
  { information }: typeof words,
  { siteName, announcementsUrl }: Settings,
): OwnPage[] {
  const item = ({ title, href, text }: { title: string; href: string; text: string }) =>
    `[${title}](${href}): ${text}`;
  const markdown = (...blocks: string[]) => `${blocks.join('\n\n')}\n`;
  return [
    {
      route: '/',
      title: home.name,
      description: home.description,
      markdown: markdown(
        `# ${siteName}`,
        home.title,
        home.lead,
        `## ${home.waysTitle}`,
        home.ways.map((way) => `- ${item(way)}`).join('\n'),
        `## ${home.stepsTitle}`,
        home.steps.map((step, index) => `${index + 1}. ${item(step)}`).join('\n'),
      ),
    },
    {
      route: '/information',
      title: information.title,
      description: information.description,
      markdown: markdown(
        `# ${information.title}`,
        information.description,
        `${information.document} [${announcementsUrl}](${announcementsUrl})`,
      ),
    },
  ];
}
