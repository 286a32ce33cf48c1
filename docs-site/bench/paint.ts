import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { openBrowser } from '../tests/support/browser.ts';

const runs = 5;
/** Conditions of a phone: CPU four times slower, network as Lighthouse's "slow 4G". */
const slowdown = 4;
const network = {
  offline: false,
  latency: 150,
  downloadThroughput: 1_638_400 / 8,
  uploadThroughput: 750_000 / 8,
};
const phone: BrowserContextOptions = { viewport: { width: 412, height: 823 }, locale: 'ja-JP' };
/** A page counts as loaded after its main thread was idle for this time; milliseconds. */
const quietMs = 3000;
const longestMs = 90_000;

interface Seen {
  lcp: number;
  fcp: number;
  tasks: { start: number; duration: number }[];
}

/** Records paints and long tasks. Runs in the page before its scripts. */
function observe(): void {
  const seen: Seen = { lcp: 0, fcp: 0, tasks: [] };
  Object.assign(globalThis, { benchSeen: seen });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) seen.lcp = entry.startTime;
  }).observe({ type: 'largest-contentful-paint', buffered: true });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries())
      if (entry.name === 'first-contentful-paint') seen.fcp = entry.startTime;
  }).observe({ type: 'paint', buffered: true });
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) seen.tasks.push({ start: startTime, duration });
  }).observe({ type: 'longtask', buffered: true });
}

const seenOn = (page: Page) => page.evaluate(() => (globalThis as unknown as { benchSeen: Seen }).benchSeen);

export interface Paint {
  /** Largest contentful paint; milliseconds. */
  readonly lcp: number;
  /** Total blocking time after the first paint; milliseconds. */
  readonly tbt: number;
}

/** Median of several first visits. `shown` is a selector that exists when the document is displayed. */
export async function measurePaint(url: string, shown: string): Promise<Paint> {
  const all: Paint[] = [];
  for (let run = 0; run < runs; run += 1) all.push(await firstVisit(url, shown));
  const median = (of: keyof Paint) => all.map((one) => one[of]).sort((a, b) => a - b)[runs >> 1] ?? 0;
  return { lcp: median('lcp'), tbt: median('tbt') };
}

async function firstVisit(url: string, shown: string): Promise<Paint> {
  return await onPage(slowdown, async (page) => {
    await page.goto(url, { timeout: longestMs });
    await page.waitForSelector(shown, { timeout: longestMs });
    const { lcp, fcp, tasks } = await quiet(page);
    const blocking = tasks.filter(({ start, duration }) => start + duration > fcp && duration > 50);
    return { lcp, tbt: blocking.reduce((sum, { duration }) => sum + duration - 50, 0) };
  });
}

/** Longest task of the main thread while the page is scrolled from top to bottom; milliseconds. */
export async function measureScroll(url: string): Promise<{ longestTask: number; elements: number }> {
  return await onPage(1, async (page) => {
    await page.goto(url, { timeout: longestMs });
    const { tasks } = await quiet(page);
    const before = tasks.length;
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    const steps = 120;
    for (let step = 0; step < steps; step += 1) {
      await page.mouse.wheel(0, Math.ceil(height / steps));
      await delay(50);
    }
    const after = await quiet(page);
    const elements = await page.evaluate(() => document.querySelectorAll('*').length);
    return { longestTask: Math.max(0, ...after.tasks.slice(before).map((one) => one.duration)), elements };
  });
}

async function onPage<T>(times: number, use: (page: Page) => Promise<T>): Promise<T> {
  const context = await (await openBrowser()).newContext(phone);
  try {
    const page = await context.newPage();
    await page.addInitScript(observe);
    const client = await context.newCDPSession(page);
    if (times > 1) {
      await client.send('Network.enable');
      await client.send('Network.emulateNetworkConditions', network);
      await client.send('Emulation.setCPUThrottlingRate', { rate: times });
    }
    return await use(page);
  } finally {
    await context.close();
  }
}

async function quiet(page: Page): Promise<Seen> {
  const until = performance.now() + longestMs;
  for (;;) {
    await delay(500);
    const seen = await seenOn(page);
    const now = await page.evaluate(() => performance.now());
    const last = Math.max(0, ...seen.tasks.map(({ start, duration }) => start + duration));
    if (now - Math.max(last, seen.lcp) > quietMs || performance.now() > until) return seen;
  }
}
