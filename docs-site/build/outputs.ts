import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { filesIn } from './dist.ts';
import { escapeHtml } from './highlight.ts';
import { markdownFile, type OwnPage } from './own-pages.ts';
import { announcementsSetting, type Settings, SettingsError } from './settings.ts';
import type { Site } from './site.ts';

export const listed = (site: Site) => site.pages.filter(({ page }) => !page.unlisted && !page.draft);

export function sitemap(site: Site, { siteUrl }: Settings): string {
  const routes = [...site.own, ...listed(site).map(({ page }) => page)].map(({ route }) => route);
  const entries = routes.map((route) => `  <url><loc>${escapeHtml(siteUrl + encodeURI(route))}</loc></url>`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${entries.join('\n')}\n</urlset>\n`;
}

export function llms(site: Site, { siteName, siteUrl }: Settings): string {
  const line = ({ title, route, description }: Omit<OwnPage, 'markdown'>) =>
    `- [${title}](${siteUrl}${markdownFile(route)}): ${description}`;
  const lines = (kind: string) =>
    listed(site)
      .filter(({ page }) => page.kind === kind)
      .map(({ page }) => line(page));
  const contracts = listed(site)
    .filter(({ page }) => page.kind === 'api')
    .map(({ page }) => `- [${page.title} (OpenAPI)](${siteUrl}${page.route}.yaml)`);
  return [
    `# ${siteName}`,
    '',
    '> ウェアラブルヘッドセットを管理するクラウド API の開発者向けガイドと API リファレンスです。',
    '',
    '## サイト',
    ...site.own.map(line),
    '',
    '## ガイド',
    ...lines('guide'),
    '',
    '## API リファレンス',
    ...lines('api'),
    ...contracts,
    '',
  ].join('\n');
}

/** Writes all files except the pages into Gatsby's output. Returns the paths of the written files. */
export function writeOutputs(site: Site, settings: Settings, root: string, output: string): string[] {
  const written: string[] = [];
  const write = (path: string, content: string | Uint8Array) => {
    const file = join(output, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    written.push(path);
  };
  write('/sitemap.xml', sitemap(site, settings));
  write('/search.json', JSON.stringify(site.search));
  write('/llms.txt', llms(site, settings));
  write('/robots.txt', `User-agent: *\nAllow: /\nSitemap: ${settings.siteUrl}/sitemap.xml\n`);
  for (const { page, html, markdown } of site.pages) {
    write(page.fragment, html);
    if (!page.draft) write(markdownFile(page.route), markdown);
  }
  for (const { route, markdown } of site.own) write(markdownFile(route), markdown);
  for (const { route, file, document } of site.apis) {
    write(`${route}.yaml`, readFileSync(file));
    write(`${route}.json`, `${JSON.stringify(document, null, 2)}\n`);
  }
  const announcements = join(root, 'content/announcements');
  for (const file of filesIn(announcements)) {
    write(`/announcements${file}`, readFileSync(join(announcements, file)));
  }
  const { announcementsUrl, environment } = settings;
  if (announcementsUrl.startsWith('/') && !written.includes(announcementsUrl)) {
    if (!existsSync(join(root, 'static', announcementsUrl)))
      throw new SettingsError(
        `${announcementsSetting(environment)}: "${announcementsUrl}" is not a file of the site (content/announcements, static)`,
      );
  }
  return written;
}
