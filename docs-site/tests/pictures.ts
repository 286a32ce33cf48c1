import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { closeBrowser, hydrated, visit } from './support/browser.ts';
import { routes, startSite } from './support/site.ts';

/** Takes screenshots of every route in three widths and both themes: `node tests/pictures.ts FOLDER [route…]` */
const [folder, ...chosen] = process.argv.slice(2);
if (!folder) {
  process.stderr.write('usage: node tests/pictures.ts FOLDER [route…]\n');
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
const widths = (process.env['WIDTHS'] ?? '390,997,1440').split(',').map(Number);
const site = await startSite();
try {
  for (const theme of ['light', 'dark'] as const) {
    for (const width of widths) {
      const before = `localStorage.setItem('theme', '${theme}')`;
      await visit(site.url, { viewport: { width, height: 900 }, before }, async ({ page }) => {
        for (const route of chosen.length > 0 ? chosen : routes) {
          await page.goto(route);
          await hydrated(page);
          await page.waitForSelector('[aria-busy=true]', { state: 'detached' });
          const name = route.slice(1).replaceAll('/', '-') || 'home';
          // Limits the height: a screenshot of a whole reference is too long to view.
          const clip = {
            x: 0,
            y: 0,
            width,
            height: Math.min(3000, await page.evaluate(() => document.documentElement.scrollHeight)),
          };
          await page.screenshot({
            path: join(folder, `${name}-${width}-${theme}.png`),
            fullPage: true,
            clip,
          });
        }
      });
    }
  }
} finally {
  await closeBrowser();
  await site.stop();
}
