import { findProgram } from '@headset-cloud/demo/stack/programs.ts';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import type { Break } from '../breaks/breaks.ts';

/** Names of the program in Debian and elsewhere. */
const programs = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The program that CHROME_PATH names, or the first one on PATH. */
export const chromePath = (): string | undefined =>
  process.env['CHROME_PATH'] || programs.map((name) => findProgram(name)).find((path) => path !== undefined);

export const noChrome = 'chromium not on PATH: install the package chromium, or set CHROME_PATH';

/** The machine may be slow: a condition that never comes true fails, one that comes late does not. */
export const patienceMs = Number(process.env['CHECK_TIMEOUT_MS'] || 30_000);

/** The seeded break under which the checks run (tests/breaks); none in other runs. */
const seeded: Break | undefined = process.env['CHECK_BREAK'] && JSON.parse(process.env['CHECK_BREAK']);

/** Debian's Chromium fills its address bar's panels for each new window: up to half a second of processor time. */
export const panels = 'WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,PreloadTopChromeWebUI';

/** The browser heeds the last such list only: after the panels comes what Playwright switches off. */
const unneeded = [
  ...[panels, 'Translate', 'AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose'],
  ...['HttpsUpgrades', 'HttpsFirstBalancedModeAutoEnable', 'LensOverlay', 'MediaRouter', 'PaintHolding'],
  ...['OptimizationHints', 'ThirdPartyStoragePartitioning', 'NetworkTimeServiceQuerying', 'AimEnabled'],
  'PreconnectToSearch',
].join(',');

/** A page that a check makes itself, as the seeded break leaves it. */
export async function underBreak(page: string): Promise<string> {
  if (!seeded) return page;
  const { breaks } = await import('../breaks/breaks.ts');
  return breaks.find(({ name }) => name === seeded.name)?.change?.('/page.html', page) ?? page;
}

let shared: Promise<Browser> | undefined;

/** One browser for all tests of the process. */
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
  /** What the page wrote to its console as warnings and errors, and what it threw. */
  readonly complaints: string[];
}

export interface VisitOptions extends BrowserContextOptions {
  /** Runs before every script of the page. */
  readonly before?: (() => void) | string;
}

/** A fresh context with one page; closed when the callback ends. */
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
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['warning', 'error'].includes(message.type()))
      complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`thrown: ${error.message}`));
  try {
    return await use({ page, context, complaints });
  } finally {
    await context.close();
  }
}

/** A script for `before`: a timer of this duration runs only when `runHeldTimer` says so. */
export const heldTimer = (ms: number): string => `{
  const real = setTimeout;
  window.setTimeout = (run, ms, ...rest) => {
    if (ms !== ${ms}) return real(run, ms, ...rest);
    window.heldTimer = () => run(...rest);
    return 0;
  };
}`;

/** Waits until the held timer is set, and runs it. */
export async function runHeldTimer(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const { heldTimer } = window as unknown as { heldTimer?: () => void };
    heldTimer?.();
    return heldTimer !== undefined;
  });
}

/** React has taken over the page. */
export const hydrated = async (page: Page): Promise<void> => {
  if (seeded?.noHydration) return;
  await page.waitForFunction(
    () =>
      Object.keys(document.getElementById('___gatsby') ?? {}).some((key) =>
        key.startsWith('__reactContainer'),
      ) && document.documentElement.dataset['ready'] === 'true',
  );
};
