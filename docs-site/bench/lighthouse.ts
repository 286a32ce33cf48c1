import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { chromePath } from '../tests/support/browser.ts';

const run = promisify(execFile);
const cli = createRequire(import.meta.url).resolve('lighthouse/cli/index.js');
/** Debian's Chromium fills its address bar's panel while the page loads: up to half a second of processor time. */
const panels = 'WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,PreloadTopChromeWebUI';
const flags = `--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-features=${panels},Translate,OptimizationHints,MediaRouter`;
/** Lighthouse gives up now and then before it has begun (NO_NAVSTART). */
const tries = 3;

export const categories = ['performance', 'accessibility', 'best-practices', 'seo'] as const;
export const goal = 95;
/** Of 100. */
export type Scores = Record<(typeof categories)[number], number>;

interface Report {
  readonly categories: Record<string, { readonly score: number | null }>;
  /** How fast Lighthouse found this machine to be during the run. */
  readonly environment: { readonly benchmarkIndex: number };
}

/** Lighthouse's own slowdown, and the machine that it makes the phone of (its calculator for other machines). */
const [slowdown, fullIndex] = [4, 1533];

/** One run as on a phone, with Lighthouse's own throttling; where a category falls below the goal, the median of three. */
export async function lighthouse(url: string): Promise<Scores> {
  const first = await measure(url, slowdown);
  if (categories.every((name) => first.scores[name] >= goal)) return first.scores;
  // A machine that is slow or busy is slowed down by less, so that it is still that phone.
  const less = Math.max(1, slowdown * Math.min(1, first.benchmarkIndex / fullIndex));
  const all: Scores[] = [];
  if (less === slowdown) all.push(first.scores);
  while (all.length < 3) all.push((await measure(url, less)).scores);
  return scores((name) => all.map((one) => one[name]).sort((a, b) => a - b)[1] ?? 0);
}

/** One run. */
export async function measure(
  url: string,
  multiplier = slowdown,
): Promise<{ readonly scores: Scores; readonly benchmarkIndex: number }> {
  const args = [
    cli,
    url,
    '--output=json',
    '--quiet',
    `--chrome-flags=${flags}`,
    `--only-categories=${categories.join(',')}`,
    `--throttling.cpuSlowdownMultiplier=${multiplier}`,
  ];
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { stdout } = await run(process.execPath, args, {
        env: { ...process.env, CHROME_PATH: chromePath() ?? '' },
        maxBuffer: 2 ** 28,
        timeout: 180_000,
      });
      const { categories: found, environment } = JSON.parse(stdout) as Report;
      return {
        scores: scores((name) => Math.round((found[name]?.score ?? 0) * 100)),
        benchmarkIndex: environment.benchmarkIndex,
      };
    } catch (error) {
      if (attempt === tries) throw error;
    }
  }
}

function scores(of: (name: keyof Scores) => number): Scores {
  return Object.fromEntries(categories.map((name) => [name, of(name)])) as Scores;
}
