import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { hydrated } from '../support/browser.ts';
import { check, desktop, disturbed, phone } from '../support/check.ts';
import { type Front, fails, type Held, passes, replies } from '../support/front.ts';

const about = '/docs/introduction/about';
const tutorial = '/docs/introduction/tutorial';
const sora = '/docs/introduction/sora';

const goTo = (page: Page, route: string) =>
  page.evaluate(
    (path) => (window as unknown as { ___navigate(path: string): void }).___navigate(path),
    route,
  );

/** Lets go, and waits until the page has done with the answer: it may ask once whether the server is there. */
async function release(page: Page, held: Held): Promise<void> {
  await held.release();
  await page.waitForFunction(
    (path) => performance.getEntriesByType('resource').some(({ name }) => new RegExp(path).test(name)),
    held.path.source.replace('^', ''),
  );
  await page.evaluate(async () => {
    await fetch(window.location.href, { method: 'HEAD', cache: 'no-store' });
    await new Promise((done) => requestAnimationFrame(() => requestIdleCallback(done)));
  });
}

// proves site/loading
describe('a navigation that another has overtaken', () => {
  for (const [how, end] of [
    ['comes late', passes],
    ['fails late', fails],
  ] as const) {
    disturbed(
      `by a click: the older page ${how} and changes nothing`,
      desktop,
      async ({ page, complaints, front }) => {
        await page.goto(tutorial);
        await hydrated(page);
        const held = front.hold(/^\/fragments\/[^/]*sora/, end);
        await goTo(page, sora);
        await held.asked;
        await goTo(page, about);
        await page.locator('h1', { hasText: '概要' }).waitFor();
        await release(page, held);
        assert.equal(new URL(page.url()).pathname, about);
        assert.equal(await page.locator('h1').textContent(), '概要');
        assert.deepEqual(
          complaints.filter((one) => one.startsWith('warning')),
          [],
        );
        assert.equal(await page.locator('.load-failure').count(), 0);
      },
    );
    disturbed(`by Back: the older page ${how} and changes nothing`, desktop, async ({ page, front }) => {
      await page.goto(tutorial);
      await hydrated(page);
      await goTo(page, about);
      await page.locator('h1', { hasText: '概要' }).waitFor();
      const held = front.hold(/^\/fragments\/[^/]*sora/, end);
      await goTo(page, sora);
      await held.asked;
      await page.goBack();
      await page.locator('h1', { hasText: 'チュートリアル' }).waitFor();
      await release(page, held);
      assert.equal(new URL(page.url()).pathname, tutorial);
      assert.equal(await page.locator('h1').textContent(), 'チュートリアル');
    });
  }
  disturbed('leaves no spinner', desktop, async ({ page, front }) => {
    await page.clock.install();
    await page.goto(tutorial);
    await hydrated(page);
    const held = front.hold(/^\/fragments\/[^/]*sora/);
    await goTo(page, sora);
    await held.asked;
    await goTo(page, about);
    await page.locator('h1', { hasText: '概要' }).waitFor();
    // Gatsby tells of a delay after one second.
    await page.clock.fastForward(1200);
    assert.equal(await page.locator('.loading .spinner').count(), 0);
    await held.release();
  });
  disturbed('a second click on the same link leads there', desktop, async ({ page, front }) => {
    await page.goto(tutorial);
    await hydrated(page);
    const held = front.hold(/^\/fragments\/[^/]*sora/);
    await goTo(page, sora);
    await held.asked;
    await goTo(page, sora);
    await release(page, held);
    await page.waitForURL(`**${sora}`);
  });
});

describe('a fragment that is not what the address promises', () => {
  for (const [name, answer] of [
    ['empty', replies('')],
    ['changed', replies('<p>another</p>')],
    ['the page of a portal', replies('<h2>Sign in to the network</h2>', { type: 'text/html' })],
  ] as const) {
    disturbed(
      `${name}: is not shown; the page is loaded as a whole`,
      desktop,
      async ({ page, complaints, front }) => {
        await page.goto(tutorial);
        await hydrated(page);
        front.on(/^\/fragments\/[^/]*about/, answer);
        await goTo(page, about);
        await page.locator('h1', { hasText: '概要' }).waitFor();
        await hydrated(page);
        assert.ok((await page.locator('.prose > *').count()) > 3);
        assert.equal(await page.getByText('Sign in to the network').count(), 0);
        assert.equal(complaints.filter((one) => one.startsWith('warning: The page')).length, 1);
      },
    );
  }
});

describe('where the network is down', () => {
  const down = (front: Front) => front.on(/^\/(?:page-data\/)?docs\//, fails);
  disturbed('a click stays on the page and says so; Retry continues', desktop, async ({ page, front }) => {
    await page.goto('/information');
    await hydrated(page);
    const up = down(front);
    await page.locator('.footer a[href="/docs/introduction/sora"]').click();
    const box = page.locator('.load-failure');
    await box.waitFor();
    assert.equal(new URL(page.url()).pathname, '/information');
    assert.match(await box.innerText(), /ページを読み込めませんでした/);
    assert.equal(await page.locator('.loading .spinner').count(), 0);
    // Still down: it says so again, and the page stays.
    await box.getByRole('button', { name: /Retry/ }).click();
    await page.waitForFunction(() => document.querySelector('.load-failure')?.textContent !== '');
    assert.equal(new URL(page.url()).pathname, '/information');
    await box.getByRole('button', { name: /Retry/ }).waitFor();
    up();
    await box.getByRole('button', { name: /Retry/ }).click();
    await page.locator('h1', { hasText: '遠隔支援' }).waitFor();
    assert.equal(await box.count(), 0);
  });
  disturbed('the notice can be closed', desktop, async ({ page, front }) => {
    await page.goto('/information');
    await hydrated(page);
    down(front);
    await page.locator('.footer a[href="/docs/introduction/sora"]').click();
    const box = page.locator('.load-failure');
    await box.getByRole('button', { name: '閉じる' }).click();
    assert.equal(await box.count(), 0);
  });
  disturbed('a later page that comes takes the notice away', desktop, async ({ page, front }) => {
    await page.goto('/information');
    await hydrated(page);
    down(front);
    await page.locator('.footer a[href="/docs/introduction/sora"]').click();
    await page.locator('.load-failure').waitFor();
    await goTo(page, '/');
    await page.locator('.hero').waitFor();
    assert.equal(await page.locator('.load-failure').count(), 0);
  });
});

describe('a page that came without its data', () => {
  for (const [name, answer] of [
    ['cut off', fails],
    ['answered with 503', replies('', { status: 503 })],
  ] as const) {
    for (const [device, options] of [
      ['desktop', desktop],
      ['phone', phone],
    ] as const) {
      disturbed(
        `${name}, ${device}: the notice covers nothing and can be closed`,
        options,
        async ({ page, front }) => {
          front.on(/^\/page-data\/docs\/introduction\/about\//, answer);
          await page.goto(about);
          const box = page.locator('.load-failure');
          await box.waitFor();
          // One measurement of all parts: the layout may still change between two.
          const parts = ['.load-failure', '.navbar', 'h1', '.prose > :first-child'];
          const covered = await page.evaluate((selectors) => {
            const [notice, ...others] = selectors.map((selector) =>
              document.querySelector(selector)?.getBoundingClientRect(),
            );
            return selectors.slice(1).filter((_, i) => {
              const other = others[i];
              return !notice || !other || other.top < notice.bottom - 1;
            });
          }, parts);
          assert.deepEqual(covered, []);
          for (const english of await box.getByText(/An error occurred|Retry/).all())
            assert.equal(await english.evaluate((node) => node.closest('[lang=en]') !== null), true);
          await box.getByRole('button', { name: '閉じる' }).click();
          assert.equal(await box.count(), 0);
          assert.equal(await page.locator('h1', { hasText: '概要' }).isVisible(), true);
        },
      );
    }
  }
  for (const chunk of ['framework', 'app']) {
    disturbed(
      `whose script ${chunk} does not come, says so and offers to load again`,
      desktop,
      async ({ page, front }) => {
        const fix = front.on(new RegExp(`^/${chunk}-[^/]*\\.js$`), fails);
        await page.goto(about);
        const box = page.locator('.load-failure');
        await box.waitFor();
        assert.match(await box.innerText(), /一部の機能/);
        assert.equal(await page.locator('h1', { hasText: '概要' }).isVisible(), true);
        fix();
        await box.getByRole('button', { name: '再読み込み' }).click();
        await hydrated(page);
        assert.equal(await box.count(), 0);
      },
    );
  }
});

describe('a click before the page is taken over', () => {
  const early = async (page: Page, front: Front, route: string, click: () => Promise<void>) => {
    const held = front.hold(/^\/app-[^/]*\.js$/);
    await page.goto(route, { waitUntil: 'commit' });
    await held.asked;
    await page.locator('.footer').waitFor({ state: 'attached' });
    await click();
    await held.release();
    await hydrated(page);
  };
  disturbed('the colour is changed', desktop, async ({ page, front }) => {
    await early(page, front, about, () => page.locator('[data-colour-toggle]').click());
    await page.waitForFunction(() => document.documentElement.dataset['theme'] === 'dark');
  });
  disturbed('the dropdown opens', desktop, async ({ page, front }) => {
    await early(page, front, about, () => page.locator('[data-dropdown=guides] > button').click());
    await page.locator('[data-dropdown=guides] > ul').waitFor({ state: 'visible' });
  });
  disturbed('a category of the sidebar opens', desktop, async ({ page, front }) => {
    const category = page.locator('.doc-sidebar__toggle').nth(2);
    await early(page, front, '/apis/v1/cws_api', () => category.click());
    await page.waitForFunction(
      () => document.querySelectorAll('.doc-sidebar__toggle')[2]?.getAttribute('aria-expanded') === 'true',
    );
  });
  disturbed('the sidebar is hidden', desktop, async ({ page, front }) => {
    await early(page, front, about, () => page.locator('.doc-sidebar__hide').click());
    await page.locator('.doc-sidebar__scroll').waitFor({ state: 'hidden' });
  });
  disturbed('the mobile menu opens', phone, async ({ page, front }) => {
    await early(page, front, about, () => page.locator('.navbar__menu').click());
    await page.locator('dialog.mobile-menu[open]').waitFor();
  });
  disturbed('a language is chosen', desktop, async ({ page, front }) => {
    await early(page, front, '/docs/components', () =>
      page.getByRole('tab', { name: 'Python' }).first().click(),
    );
    await page.locator('.tabs__panel[data-language=python]').first().waitFor({ state: 'visible' });
    assert.equal(await page.locator('.tabs__panel[data-language=bash]').first().isVisible(), false);
  });
  disturbed('a click elsewhere afterwards takes it back', desktop, async ({ page, front }) => {
    await early(page, front, about, async () => {
      await page.locator('[data-dropdown=guides] > button').click();
      await page.locator('h1').click();
    });
    assert.equal(await page.locator('[data-dropdown=guides] > ul').isVisible(), false);
  });
  disturbed('an old click is not repeated', desktop, async ({ page, front }) => {
    await page.clock.install();
    await early(page, front, about, async () => {
      await page.locator('[data-colour-toggle]').click();
      await page.clock.fastForward(60_000);
    });
    assert.equal(await page.evaluate(() => document.documentElement.dataset['theme']), 'light');
  });
  check('a click while React takes over counts once', desktop, async ({ page }) => {
    await page.goto(about);
    await hydrated(page);
    await page.locator('[data-colour-toggle]').click();
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    assert.equal(await page.evaluate(() => document.documentElement.dataset['theme']), 'dark');
  });
});
