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
import { type Front, startFront } from './front.ts';
import { type Site, startSite } from './site.ts';

let shared: Promise<Site> | undefined;

/** The site that all checks in Chromium use. */
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

// CI demands what it has installed: there a missing Chromium is a failure, not a skip.
export const skip = chromePath() || process.env['REQUIRE_REAL_STACK'] ? false : noChrome;

/** What waits for a request that never comes ends as well. */
const timeout = Math.max(20 * patienceMs, 20_000);

/** A test with a page of its own in real Chromium. */
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

/** The same where answers of the site fail, come late or are others: its page comes through a front of its own. */
export function disturbed(
  name: string,
  options: VisitOptions,
  use: (visit: Visit & { readonly site: Site; readonly front: Front }) => Promise<void>,
): void {
  test(name, { skip, timeout }, async () => {
    const site = await sharedSite();
    const front = await startFront(site.url);
    try {
      await visit(front.url, options, (one) => use({ ...one, site, front }));
    } finally {
      await front.stop();
    }
  });
}
