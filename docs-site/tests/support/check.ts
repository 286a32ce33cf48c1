import { after, test } from 'node:test';
import {
  chromePath,
  closeBrowser,
  noChrome,
  patienceMs,
  type Visit,
  type VisitOptions,
  visit,
} from './browser.ts';
import { startProxy, type TestProxy } from './proxy.ts';
import { type Site, startSite } from './site.ts';

let shared: Promise<Site> | undefined;

/** Returns the site that all checks in Chromium share. */
export const sharedSite = (): Promise<Site> => {
  shared ??= startSite();
  return shared;
};

after(async () => {
  await closeBrowser();
  await (await shared)?.stop();
  shared = undefined;
});

export const desktop = { viewport: { width: 1280, height: 800 } } as const;
export const phone = { viewport: { width: 390, height: 800 }, hasTouch: true } as const;

// In CI, a missing Chromium is a failure, not a skip.
export const skip = chromePath() || process.env['REQUIRE_REAL_STACK'] ? false : noChrome;

/** Timeout of a check; milliseconds. Also ends checks that wait for a request that never comes. */
const timeout = Math.max(20 * patienceMs, 20_000);

/** A test with a new page in Chromium. */
export function check(
  name: string,
  options: VisitOptions,
  use: (visit: Visit & { readonly site: Site }) => Promise<void>,
): void {
  test(name, { skip, timeout }, async () => {
    const site = await sharedSite();
    await visit(site.url, options, (one) => use({ ...one, site }));
  });
}

/** A test whose page is loaded through a new proxy, which can fail, delay or change responses of the site. */
export function disturbed(
  name: string,
  options: VisitOptions,
  use: (visit: Visit & { readonly site: Site; readonly proxy: TestProxy }) => Promise<void>,
): void {
  test(name, { skip, timeout }, async () => {
    const site = await sharedSite();
    const proxy = await startProxy(site.url);
    try {
      await visit(proxy.url, options, (one) => use({ ...one, site, proxy }));
    } finally {
      await proxy.stop();
    }
  });
}
