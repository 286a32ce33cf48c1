import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { hydrated } from '../support/browser.ts';
import { check, desktop, disturbed } from '../support/check.ts';
import { fails } from '../support/proxy.ts';

const about = '/docs/introduction/about';

async function open(page: Page, route: string = about): Promise<void> {
  await page.goto(route);
  await hydrated(page);
}

const button = (page: Page, name = 'guides') => page.locator(`[data-dropdown=${name}] > button`);
const menu = (page: Page, name = 'guides') => page.locator(`[data-dropdown=${name}] > ul`);

async function isOpen(page: Page, expected: boolean, name = 'guides'): Promise<void> {
  await menu(page, name).waitFor({ state: expected ? 'visible' : 'hidden' });
  assert.equal(await button(page, name).getAttribute('aria-expanded'), String(expected));
}

// proves site/navigation, site/name, site/search
check('the top navigation is the same on every page', desktop, async ({ page }) => {
  for (const route of ['/', about, '/apis/v1/cws_api', '/information']) {
    await open(page, route);
    const main = page.locator('.navbar__main');
    assert.deepEqual(await main.locator('[data-dropdown] > button').allInnerTexts(), [
      '導入ガイド',
      'API リファレンス',
    ]);
    assert.deepEqual(
      await menu(page, 'apis')
        .locator('a')
        .evaluateAll((all) => all.map((one) => one.getAttribute('href'))),
      ['cws_api', 'cws_notification', 'cws_presigned_url', 'cws_extension'].map((one) => `/apis/v1/${one}`),
    );
    const announcements = main.locator(':scope > a');
    assert.deepEqual(await announcements.allInnerTexts(), ['お知らせ']);
    assert.equal(await announcements.getAttribute('href'), '/information');
    for (const name of ['version', 'locale']) assert.equal(await button(page, name).isVisible(), true);
    assert.equal(
      await page.locator('.navbar__tools').getByRole('button', { name: /検索/ }).isVisible(),
      true,
    );
    assert.equal(await page.locator('.navbar__brand').innerText(), 'Headset Cloud ガイド');
    assert.match(await page.title(), /Headset Cloud ガイド/);
  }
});

// proves site/home
check('the home page names the site and leads to the guides and references', desktop, async ({ page }) => {
  await open(page, '/docs');
  await page.locator('.navbar__brand').click();
  await page.waitForURL((url) => url.pathname === '/');
  await page.locator('.hero').waitFor();
  assert.equal(await page.locator('.hero__name').innerText(), 'Headset Cloud ガイド');
  assert.equal(await page.locator('h1').count(), 1);
  const links = await page
    .locator('main a')
    .evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? ''));
  for (const route of ['/docs/introduction/about', '/docs/introduction/tutorial', '/apis/v1/cws_api']) {
    assert.ok(links.includes(route), route);
  }
  assert.equal((await page.request.get('/')).status(), 200);
});

// proves site/navigation
describe('dropdown', () => {
  check('opens on hover and closes when the pointer leaves', desktop, async ({ page }) => {
    await open(page);
    await button(page).hover();
    await isOpen(page, true);
    await page.mouse.move(640, 600);
    await isOpen(page, false);
  });
  for (const key of ['Enter', 'Space']) {
    check(`${key} opens and closes it`, desktop, async ({ page }) => {
      await open(page);
      await button(page).focus();
      await page.keyboard.press(key);
      await isOpen(page, true);
      await page.keyboard.press(key);
      await isOpen(page, false);
    });
  }
  check('a click pins it, so that leaving does not close it', desktop, async ({ page }) => {
    await open(page);
    await button(page).click();
    await page.mouse.move(640, 600);
    await isOpen(page, true);
  });
  check('closes on a click outside', desktop, async ({ page }) => {
    await open(page);
    await button(page).click();
    await isOpen(page, true);
    await page.mouse.click(640, 600);
    await isOpen(page, false);
  });
  check('closes when it loses the focus', desktop, async ({ page }) => {
    await open(page);
    await button(page).focus();
    await page.keyboard.press('Enter');
    await isOpen(page, true);
    await page.keyboard.press('Shift+Tab');
    await isOpen(page, false);
  });
  check('Escape closes it and returns the focus to the button', desktop, async ({ page }) => {
    await open(page);
    await button(page).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'A');
    await page.keyboard.press('Escape');
    await isOpen(page, false);
    assert.equal(await button(page).evaluate((node) => node === document.activeElement), true);
  });
  check('links to every page of its section and marks the current page', desktop, async ({ page }) => {
    await open(page);
    await button(page).click();
    const links = await menu(page)
      .locator('a')
      .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
    assert.deepEqual(links, [
      ...['about', 'preparation', 'authentication', 'tutorial', 'sora'].map(
        (one) => `/docs/introduction/${one}`,
      ),
      ...['events', 'deliveries', 'test-callbacks', 'event-types', 'device-statuses', 'hc'].map(
        (one) => `/docs/extension/${one}`,
      ),
    ]);
    assert.equal(await menu(page).locator('[aria-current=page]').getAttribute('href'), about);
    await menu(page).locator('a', { hasText: 'チュートリアル' }).click();
    await page.waitForURL('**/docs/introduction/tutorial');
    await isOpen(page, false);
  });
});

// proves site/navigation
describe('996 pixels', () => {
  for (const [width, mobile] of [
    [996, true],
    [997, false],
  ] as const) {
    check(
      `${width} is ${mobile ? 'mobile' : 'desktop'} for stylesheets and scripts`,
      { viewport: { width, height: 800 } },
      async ({ page }) => {
        await open(page);
        assert.equal(await page.locator('.navbar__menu').isVisible(), mobile);
        assert.equal(await page.locator('.navbar__main').isVisible(), !mobile);
        assert.equal(await page.locator('.doc-sidebar').isVisible(), !mobile);
        assert.equal(await page.evaluate(() => matchMedia('(max-width: 996px)').matches), mobile);
      },
    );
  }
  for (const width of [320, 360, 390]) {
    check(
      `the site’s name is fully visible at ${width} pixels`,
      { viewport: { width, height: 700 } },
      async ({ page }) => {
        await open(page);
        const name = page.locator('.navbar__inner .navbar__name');
        const { cut, text } = await name.evaluate((node) => ({
          // The heights are rounded and may differ by one.
          cut: node.scrollWidth > node.clientWidth || node.scrollHeight > node.clientHeight + 1,
          text: node.textContent,
        }));
        assert.equal(text, 'Headset Cloud ガイド');
        assert.equal(cut, false);
        const bar = await page.locator('.navbar__inner').boundingBox();
        const box = await name.boundingBox();
        assert.ok(bar && box && box.height > 0 && box.y >= bar.y && box.y + box.height <= bar.y + bar.height);
      },
    );
  }
  for (const width of [320, 997, 1024, 1100]) {
    check(
      `no page is wider than its ${width} pixels`,
      { viewport: { width, height: 700 } },
      async ({ page }) => {
        for (const route of ['/', '/docs/components', '/apis/v1/cws_api', '/information', '/no-such-page']) {
          await open(page, route);
          const scroll = await page.evaluate(() => document.documentElement.scrollWidth);
          // A headless browser has no scroll bar, so the page is as wide as the window.
          assert.equal(scroll, width, route);
        }
      },
    );
  }
});

describe('locale and version', () => {
  // proves site/locale
  check('there is one active locale, whose link keeps query and hash', desktop, async ({ page }) => {
    await open(page, `${about}?a=1#b`);
    await button(page, 'locale').click();
    const items = menu(page, 'locale').locator('a');
    assert.equal(await items.count(), 1);
    assert.equal(await items.textContent(), '日本語');
    assert.equal(await items.getAttribute('aria-current'), 'true');
    assert.equal(await items.getAttribute('href'), `${about}?a=1#b`);
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'ja');
  });
  // proves site/version-kept
  check(
    'the chosen version is stored, and an unknown stored version is removed',
    {
      ...desktop,
      before:
        "if(!sessionStorage.once){sessionStorage.once='1';localStorage.setItem('docs-preferred-version-default','gone')}",
    },
    async ({ page }) => {
      await open(page);
      const kept = () => page.evaluate(() => localStorage.getItem('docs-preferred-version-default'));
      assert.equal(await kept(), null);
      await button(page, 'version').click();
      const items = menu(page, 'version').locator('a');
      assert.equal(await items.count(), 1);
      await items.click();
      assert.equal(await kept(), 'current');
      await page.reload();
      await hydrated(page);
      assert.equal(await kept(), 'current');
    },
  );
});

// proves site/colour
describe('colour', () => {
  const theme = (page: Page) => page.evaluate(() => document.documentElement.dataset['theme']);
  check(
    'the default is light, even if the system is dark',
    { ...desktop, colorScheme: 'dark' },
    async ({ page }) => {
      await open(page);
      assert.equal(await theme(page), 'light');
      assert.equal(
        await page.evaluate(() => getComputedStyle(document.body).backgroundColor),
        'rgb(255, 255, 255)',
      );
    },
  );
  disturbed('the choice is stored and applied before the first paint', desktop, async ({ page, proxy }) => {
    await open(page);
    await page.locator('[data-colour-toggle]').click();
    assert.equal(await theme(page), 'dark');
    assert.match(
      (await page.locator('[data-colour-toggle]').getAttribute('aria-label')) ?? '',
      /ダークモード\)$/,
    );
    // Without other scripts, only the head script can set the theme.
    proxy.on(/\.js$/, fails);
    await page.reload({ waitUntil: 'commit' });
    await page.waitForFunction(() => document.body !== null);
    assert.equal(await theme(page), 'dark');
  });
  check('tabs are synchronized', desktop, async ({ page, context, site }) => {
    await open(page);
    const other = await context.newPage();
    await other.goto(site.url + about);
    await hydrated(other);
    await page.locator('[data-colour-toggle]').click();
    await other.waitForFunction(() => document.documentElement.dataset['theme'] === 'dark');
  });
  check('the primary colour is #1890ff in both themes and is visible', desktop, async ({ page }) => {
    await open(page, '/');
    const seen = () =>
      page.evaluate(() => {
        const primary = getComputedStyle(document.documentElement).getPropertyValue('--primary').trim();
        const drawn = ['color', 'fill', 'stroke', 'backgroundColor', 'borderTopColor'] as const;
        const inIt = [...document.querySelectorAll('body *')].filter((one) => {
          const style = getComputedStyle(one);
          return drawn.some((name) => style[name] === 'rgb(24, 144, 255)');
        });
        return [primary, inIt.length > 0];
      });
    assert.deepEqual(await seen(), ['#1890ff', true]);
    await page.locator('[data-colour-toggle]').click();
    assert.deepEqual(await seen(), ['#1890ff', true]);
  });
  check('the button switches between two states', desktop, async ({ page }) => {
    await open(page);
    const seen = [];
    for (let time = 0; time < 4; time++) {
      await page.locator('[data-colour-toggle]').click();
      seen.push(await theme(page));
    }
    assert.deepEqual(seen, ['dark', 'light', 'dark', 'light']);
  });
});

describe('skip link, back to top, announcement bar', () => {
  // proves site/skip-and-top
  check('the first Tab reaches the skip link; Enter moves the focus to main', desktop, async ({ page }) => {
    await open(page);
    await page.keyboard.press('Tab');
    assert.equal(
      await page.evaluate(() => document.activeElement?.textContent),
      'メインコンテンツまでスキップ',
    );
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'MAIN');
  });
  // proves site/skip-and-top
  check(
    'back to top appears on scrolling up below 300 pixels and disappears on scrolling down',
    desktop,
    async ({ page }) => {
      await open(page, '/docs/components');
      const top = page.locator('.back-to-top');
      assert.equal(await top.isVisible(), false);
      await page.mouse.move(640, 400);
      await page.mouse.wheel(0, 1500);
      await page.waitForFunction(() => window.scrollY > 1000);
      assert.equal(await top.isVisible(), false);
      await page.mouse.wheel(0, -200);
      await top.waitFor({ state: 'visible' });
      await page.mouse.wheel(0, 200);
      await top.waitFor({ state: 'hidden' });
      await page.mouse.wheel(0, -300);
      await top.click();
      await page.waitForFunction(() => window.scrollY === 0);
      await top.waitFor({ state: 'hidden' });
    },
  );
  // proves site/skip-and-top
  check('back to top disappears on a jump to a hash further up', desktop, async ({ page }) => {
    await open(page, '/docs/components');
    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
    await page.waitForFunction(() => window.scrollY > 1000);
    // The browser sends one scroll event per frame: two scrolls in one frame would be one event.
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    await page.evaluate(() => window.scrollBy(0, -50));
    await page.locator('.back-to-top').waitFor({ state: 'visible' });
    await page.evaluate(() => document.querySelector<HTMLAnchorElement>('.toc a[href="#code"]')?.click());
    await page.locator('.back-to-top').waitFor({ state: 'hidden' });
  });
  // proves site/announcement-bar
  disturbed(
    'the bar stays closed after a reload and is hidden before hydration',
    desktop,
    async ({ page, proxy }) => {
      await open(page);
      const bar = page.locator('.announcement-bar');
      assert.equal(await bar.isVisible(), true);
      await bar.locator('button').click();
      await bar.waitFor({ state: 'detached' });
      proxy.on(/\.js$/, fails);
      await page.reload();
      assert.equal(await page.evaluate(() => document.documentElement.dataset['ready']), undefined);
      assert.equal(await bar.isVisible(), false);
    },
  );
  check(
    'the bar stays closed after a reload if the storage was cleared before closing',
    desktop,
    async ({ page }) => {
      await open(page);
      await page.evaluate(() => localStorage.clear());
      await page.locator('.announcement-bar button').click();
      await page.reload();
      await hydrated(page);
      assert.equal(await page.locator('.announcement-bar').isVisible(), false);
      assert.equal(await page.evaluate(() => localStorage.getItem('announcement.dismiss')), 'true');
    },
  );
  check('a new id shows the bar again', desktop, async ({ page }) => {
    await open(page);
    await page.locator('.announcement-bar button').click();
    await page.evaluate(() => localStorage.setItem('announcement.id', 'an-older-one'));
    await page.reload();
    await hydrated(page);
    assert.equal(await page.locator('.announcement-bar').isVisible(), true);
    assert.equal(await page.evaluate(() => localStorage.getItem('announcement.dismiss')), 'false');
  });
  // proves site/footer
  check(
    'the footer links to inquiries and mailings and has the copyright line of 2025',
    desktop,
    async ({ page }) => {
      await open(page);
      assert.match((await page.locator('.footer__copyright').textContent()) ?? '', /^Copyright © 2025 /);
      for (const name of ['お問い合わせ', 'お知らせメールの登録']) {
        const link = page.locator('.footer a', { hasText: name });
        assert.match((await link.getAttribute('href')) ?? '', /^https:\/\//);
        assert.equal(await link.getAttribute('rel'), 'noopener noreferrer');
      }
    },
  );
});

// proves site/navigation
describe('arrow keys in the top menu', () => {
  const focused = (page: Page) => page.evaluate(() => document.activeElement?.getAttribute('href') ?? '');
  check('open it and move between its entries', desktop, async ({ page }) => {
    await open(page);
    await button(page).focus();
    await page.keyboard.press('ArrowDown');
    await isOpen(page, true);
    const all = await menu(page)
      .locator('a')
      .evaluateAll((links) => links.map((one) => one.getAttribute('href') ?? ''));
    assert.equal(await focused(page), all[0]);
    await page.keyboard.press('ArrowDown');
    assert.equal(await focused(page), all[1]);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    assert.equal(await focused(page), all.at(-1));
    await page.keyboard.press('ArrowDown');
    assert.equal(await focused(page), all[0]);
    assert.equal(await page.evaluate(() => window.scrollY), 0);
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowUp');
    assert.equal(await focused(page), all.at(-1));
  });
});
