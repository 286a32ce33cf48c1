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

/** The rules of axe whose outcome depends on the theme; the markup is the same in both. */
const colourRules = ['color-contrast', 'link-in-text-block'];

/** The text of every violation, of all rules or of these; none is the goal. */
async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  const found = await page.evaluate(async (only) => {
    const { axe: run } = window as unknown as {
      axe: { run(root: Document, options: object): Promise<{ violations: Violation[] }> };
    };
    // Names of elements only: what a whole reference needs otherwise takes a minute.
    const options = { resultTypes: ['violations'], ...(only && { runOnly: { type: 'rule', values: only } }) };
    return (await run.run(document, options)).violations;
  }, rules);
  return found.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}\n${nodes
        .slice(0, 3)
        .map((node) => `${node.html.slice(0, 160)}\n${node.failureSummary ?? ''}`)
        .join('\n')}`,
  );
}

/** Everything is opened that a reader can open on the page. */
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

describe('axe finds nothing', () => {
  for (const theme of ['light', 'dark']) {
    for (const width of [390, 1280]) {
      // Animations would show colours that are half way.
      const options = {
        viewport: { width, height: 800 },
        reducedMotion: 'reduce' as const,
        bypassCSP: true,
        before: `localStorage.setItem('theme', '${theme}')`,
      };
      check(`on every route, ${theme}, ${width} pixels`, options, async ({ page }) => {
        for (const route of [...routes, '/docs/components']) {
          await page.goto(route);
          await hydrated(page);
          await page.waitForSelector('[aria-busy=true]', { state: 'detached' });
          const rules = theme === 'dark' ? colourRules : undefined;
          assert.deepEqual(await violations(page, rules), [], route);
        }
      });
      for (const { name, open } of openings.filter((one) => one.width === width)) {
        check(`with ${name} open, ${theme}`, options, async ({ page }) => {
          await page.goto('/docs/introduction/about');
          await hydrated(page);
          await open(page);
          assert.deepEqual(await violations(page), []);
        });
      }
    }
  }
});

// proves site/home
describe('console', () => {
  check(
    'no route complains, of the policy or of anything',
    { viewport: { width: 1280, height: 800 } },
    async ({ page, complaints }) => {
      for (const route of [...routes, '/docs/components']) {
        complaints.length = 0;
        await page.goto(route);
        await hydrated(page);
        await page.waitForSelector('[aria-busy=true]', { state: 'detached' });
        // The answer 404 itself is told of by the browser.
        const own = complaints.filter((one) => !(route === '/no-such-page' && /status of 404/.test(one)));
        assert.deepEqual(own, [], route);
      }
    },
  );
  check(
    'the policy is on: an inline script that the build does not know is refused',
    { viewport: { width: 1280, height: 800 } },
    async ({ page, complaints }) => {
      await page.goto('/');
      await hydrated(page);
      await page.evaluate(() => {
        const script = document.createElement('script');
        script.textContent = 'window.ran = true';
        document.head.append(script);
      });
      assert.equal(await page.evaluate(() => 'ran' in window), false);
      assert.match(complaints.join('\n'), /Content Security Policy/);
    },
  );
});
