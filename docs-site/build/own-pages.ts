import type { ja as words } from '../src/strings/ja.ts';
import type { home as homeWords } from '../src/theme/Home/content.ts';
import type { Settings } from './settings.ts';

/** A page that Gatsby builds from src/pages. It has no fragment. It has a twin and is listed in sitemap and `llms.txt`. */
export interface OwnPage {
  readonly route: string;
  readonly title: string;
  readonly description: string;
  readonly twin: string;
}

/** Path of the `.md` twin of a route; `/index.md` for `/`. */
export const twinFile = (route: string): string => `${route === '/' ? '/index' : route}.md`;

export function ownPages(
  home: typeof homeWords,
  { information }: typeof words,
  { siteName, announcementsUrl }: Settings,
): OwnPage[] {
  const item = ({ title, href, text }: { title: string; href: string; text: string }) =>
    `[${title}](${href}): ${text}`;
  const twin = (...blocks: string[]) => `${blocks.join('\n\n')}\n`;
  return [
    {
      route: '/',
      title: home.name,
      description: home.description,
      twin: twin(
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
      twin: twin(
        `# ${information.title}`,
        information.description,
        `${information.document} [${announcementsUrl}](${announcementsUrl})`,
      ),
    },
  ];
}
