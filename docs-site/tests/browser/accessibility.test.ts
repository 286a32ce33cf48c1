import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { hydrated } from '../support/browser.ts';
import { check } from '../support/check.ts';
import { routes } from '../support/site.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Rules of axe that depend on the theme. The markup is the same in both themes. */
const colourRules = ['color-contrast', 'link-in-text-block'];

/** Calls of a reference after the third. One component renders all calls, so one run per page checks these as well. */
const laterCalls =
  '.api-operation:nth-child(n + 4 of .api-operation), .api-group ~ .api-group .api-operation';

/** Runs axe with these rules, or with all rules. Returns a text for each violation. `exclude` is a CSS selector. */
async function violations(page: Page, rules?: readonly string[], exclude?: string): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  const found = await page.evaluate(
    async ([only, without]) => {
      const { axe: run } = window as unknown as {
        axe: { run(context: object, options: object): Promise<{ violations: Violation[] }> };
      };
      const context = without ? { include: ['html'], exclude: [without] } : document;
      // Reports violations only: all results of a large reference would take a minute.
      const options = {
        resultTypes: ['violations'],
        ...(only && { runOnly: { type: 'rule', values: only } }),
      };
      return (await run.run(context, options)).violations;
    },
    [rules, exclude] as const,
  );
  return found.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}\n${nodes
        .slice(0, 3)
        .map((node) => `${node.html.slice(0, 160)}\n${node.failureSummary ?? ''}`)
        .join('\n')}`,
  );
}

/** All elements that a reader can open on the page. */
const openings: readonly {
  readonly name: string;
  readonly width: number;
  open(page: Page): Promise<void>;
}[] = [
  {
    name: 'a dropdown',
    width: 1280,
    open: (page) => page.locator('[data-dropdown=guides] > button').click(),
  },
  {
    name: 'the search with hits',
    width: 1280,
    async open(page) {
      await page.keyboard.press('/');
      await page.locator('.search__input').fill('notify');
      await page.locator('.search__hit').first().waitFor();
    },
  },
  {
    name: 'the mobile menu',
    width: 390,
    async open(page) {
      await page.locator('.navbar__menu').click();
      await page.locator('.mobile-menu__body').waitFor();
    },
  },
];

const widths = [390, 1280];
const themes = ['light', 'dark'] as const;
// Without animations, which would show intermediate colours.
const still = { reducedMotion: 'reduce' as const, bypassCSP: true };

/** Changes the theme with a storage event, as another tab does. */
async function changeTheme(page: Page, theme: (typeof themes)[number]): Promise<void> {
  await page.evaluate((newValue) => {
    localStorage.setItem('theme', newValue);
    window.dispatchEvent(new StorageEvent('storage', { key: 'theme', newValue }));
  }, theme);
  await page.waitForFunction((wanted) => document.documentElement.dataset['theme'] === wanted, theme);
}

describe('axe reports no violations', () => {
  for (const route of [...routes, '/docs/components']) {
    check(`on ${route}, ${themes.join(' and ')}, ${widths.join(' and ')} pixels`, still, async ({ page }) => {
      await page.goto(route);
      await hydrated(page);
      // Lays out everything, so that axe also checks elements far from the viewport.
      await page.addStyleTag({ content: '* { content-visibility: visible !important; }' });
      for (const width of widths) {
        await page.setViewportSize({ width, height: 800 });
        for (const theme of themes) {
          await changeTheme(page, theme);
          await page.waitForSelector('[aria-busy=true]', { state: 'detached' });
          const isFirst = width === widths[0] && theme === themes[0];
          const found = await violations(
            page,
            theme === 'dark' ? colourRules : undefined,
            isFirst ? undefined : laterCalls,
          );
          assert.deepEqual(found, [], `${theme}, ${width} pixels`);
        }
      }
    });
  }
  for (const theme of themes) {
    for (const { name, width, open } of openings) {
      const options = { ...still, viewport: { width, height: 800 } };
      check(`with ${name} open, ${theme}`, options, async ({ page }) => {
        await page.goto('/docs/introduction/about');
        await hydrated(page);
        await changeTheme(page, theme);
        await open(page);
        assert.deepEqual(await violations(page), []);
      });
    }
  }
});

describe('console', () => {
  check(
    'no route logs a warning or an error',
    { viewport: { width: 1280, height: 800 } },
    async ({ page, pageErrors }) => {
      for (const route of [...routes, '/docs/components']) {
        pageErrors.length = 0;
        await page.goto(route);
        await hydrated(page);
        await page.waitForSelector('[aria-busy=true]', { state: 'detached' });
        // The browser logs the status 404 of the missing page.
        const unexpected = pageErrors.filter(
          (one) => !(route === '/no-such-page' && /status of 404/.test(one)),
        );
        assert.deepEqual(unexpected, [], route);
      }
    },
  );
  check(
    'the Content-Security-Policy blocks an inline script',
    { viewport: { width: 1280, height: 800 } },
    async ({ page, pageErrors }) => {
      await page.goto('/');
      await hydrated(page);
      await page.evaluate(() => {
        const script = document.createElement('script');
        script.textContent = 'window.ran = true';
        document.head.append(script);
      });
      assert.equal(await page.evaluate(() => 'ran' in window), false);
      assert.match(pageErrors.join('\n'), /Content Security Policy/);
    },
  );
});
