import { findProgram } from '@headset-cloud/demo/stack/programs.ts';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import type { Break } from '../breaks/breaks.ts';

/** Names of Chromium and Chrome on different systems. */
const programs = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Path of Chromium: CHROME_PATH, or the first program on PATH. */
export const chromePath = (): string | undefined =>
  process.env['CHROME_PATH'] || programs.map((name) => findProgram(name)).find((path) => path !== undefined);

export const noChrome = 'chromium not on PATH: install the package chromium, or set CHROME_PATH';

/** Maximum wait for a condition; milliseconds. Long, because the machine may be slow. */
export const patienceMs = Number(process.env['CHECK_TIMEOUT_MS'] || 30_000);

/** Seeded break of this run (tests/breaks); undefined in normal runs. */
const seeded: Break | undefined = process.env['CHECK_BREAK'] && JSON.parse(process.env['CHECK_BREAK']);

/** Features to disable: Debian's Chromium renders address-bar panels for each new window, which takes up to 0.5 s. */
export const panels = 'WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,PreloadTopChromeWebUI';

/** All features to disable. Chromium uses only the last such list, so this list includes Playwright's. */
const unneeded = [
  ...[panels, 'Translate', 'AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose'],
  ...['HttpsUpgrades', 'HttpsFirstBalancedModeAutoEnable', 'LensOverlay', 'MediaRouter', 'PaintHolding'],
  ...['OptimizationHints', 'ThirdPartyStoragePartitioning', 'NetworkTimeServiceQuerying', 'AimEnabled'],
  'PreconnectToSearch',
].join(',');

/** Applies the seeded break to a page that a check generates. */
export async function underBreak(page: string): Promise<string> {
  if (!seeded) return page;
  const { breaks } = await import('../breaks/breaks.ts');
  return breaks.find(({ name }) => name === seeded.name)?.change?.('/page.html', page) ?? page;
}

let shared: Promise<Browser> | undefined;

/** Returns the browser that all tests of the process share. */
export function openBrowser(): Promise<Browser> {
  const executablePath = chromePath();
  if (!executablePath) throw new Error(noChrome);
  shared ??= chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--disable-features=${unneeded}`,
    ],
  });
  return shared;
}

export async function closeBrowser(): Promise<void> {
  const browser = shared;
  shared = undefined;
  await (await browser)?.close();
}

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Warnings and errors in the page's console, and uncaught errors. */
  readonly pageErrors: string[];
}

export interface VisitOptions extends BrowserContextOptions {
  /** Runs in the page before its scripts. */
  readonly before?: (() => void) | string;
}

/** Opens a new context with one page, and closes it after the callback. */
export async function visit<T>(
  baseURL: string,
  options: VisitOptions,
  use: (visit: Visit) => Promise<T>,
): Promise<T> {
  const browser = await openBrowser();
  const { before, ...rest } = options;
  const context = await browser.newContext({
    baseURL,
    viewport: { width: 1280, height: 800 },
    locale: 'ja-JP',
    ...rest,
  });
  context.setDefaultTimeout(patienceMs);
  context.setDefaultNavigationTimeout(patienceMs);
  if (seeded?.before) await context.addInitScript(seeded.before);
  if (before) await context.addInitScript(before as string);
  const page = await context.newPage();
  const pageErrors: string[] = [];
  page.on('console', (message) => {
    if (['warning', 'error'].includes(message.type()))
      pageErrors.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => pageErrors.push(`thrown: ${error.message}`));
  try {
    return await use({ page, context, pageErrors });
  } finally {
    await context.close();
  }
}

/** Script for `before`: a timer of this duration fires only by `runHeldTimer`. */
export const heldTimer = (ms: number): string => `{
  const real = setTimeout;
  window.setTimeout = (run, ms, ...rest) => {
    if (ms !== ${ms}) return real(run, ms, ...rest);
    window.heldTimer = () => run(...rest);
    return 0;
  };
}`;

/** Waits until the held timer is set, and fires it. */
export async function runHeldTimer(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const { heldTimer } = window as unknown as { heldTimer?: () => void };
    heldTimer?.();
    return heldTimer !== undefined;
  });
}

/** Waits until React has hydrated the page. */
export const hydrated = async (page: Page): Promise<void> => {
  if (seeded?.noHydration) return;
  await page.waitForFunction(
    () =>
      Object.keys(document.getElementById('___gatsby') ?? {}).some((key) =>
        key.startsWith('__reactContainer'),
      ) && document.documentElement.dataset['ready'] === 'true',
  );
};
