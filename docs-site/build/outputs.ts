import { copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Settings } from './settings.ts';
import type { Site } from './site.ts';

/** Pages that Gatsby builds from src/pages: they have no fragment, but stand in the sitemap. */
const ownRoutes = ['/', '/information'];

export const listed = (site: Site) => site.pages.filter(({ page }) => !page.unlisted && !page.draft);

export function sitemap(site: Site, { siteUrl }: Settings): string {
  const routes = [...ownRoutes, ...listed(site).map(({ page }) => page.route)];
  const entries = routes.map((route) => `  <url><loc>${encodeURI(siteUrl + route)}</loc></url>`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${entries.join('\n')}\n</urlset>\n`;
}

export function llms(site: Site, { siteName, siteUrl }: Settings): string {
  const line = (kind: string) =>
    listed(site)
      .filter(({ page }) => page.kind === kind)
      .map(({ page }) => `- [${page.title}](${siteUrl}${page.route}.md): ${page.description}`);
  const contracts = listed(site)
    .filter(({ page }) => page.kind === 'api')
    .map(({ page }) => `- [${page.title} (OpenAPI)](${siteUrl}${page.route}.yaml)`);
  return [
    `# ${siteName}`,
    '',
    '> ウェアラブルヘッドセットを管理するクラウド API の開発者向けガイドと API リファレンスです。',
    '',
    '## ガイド',
    ...line('guide'),
    '',
    '## API リファレンス',
    ...line('api'),
    ...contracts,
    '',
  ].join('\n');
}

/** Writes everything beside the pages into Gatsby's output. */
export function writeOutputs(site: Site, settings: Settings, root: string, output: string): void {
  const write = (path: string, text: string) => {
    const file = join(output, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  write('sitemap.xml', sitemap(site, settings));
  write('search.json', JSON.stringify(site.search));
  cpSync(join(root, 'content/announcements'), join(output, 'announcements'), { recursive: true });
  write('llms.txt', llms(site, settings));
  write('robots.txt', `User-agent: *\nAllow: /\nSitemap: ${settings.siteUrl}/sitemap.xml\n`);
  for (const { page, twin } of site.pages) if (!page.draft) write(`${page.route}.md`, twin);
  for (const { name, file, document: bundled } of site.apis) {
    mkdirSync(join(output, 'apis/v1'), { recursive: true });
    copyFileSync(file, join(output, `apis/v1/${name}.yaml`));
    write(`apis/v1/${name}.json`, `${JSON.stringify(bundled, null, 2)}\n`);
  }
}
