import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { chromePath, panels } from '../tests/support/browser.ts';

const run = promisify(execFile);
const cli = createRequire(import.meta.url).resolve('lighthouse/cli/index.js');
const flags = `--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-features=${panels},Translate,OptimizationHints,MediaRouter`;
/** Maximum number of attempts: Lighthouse sometimes fails before its run begins (NO_NAVSTART). */
const maxAttempts = 3;

export const categories = ['performance', 'accessibility', 'best-practices', 'seo'] as const;
export const goal = 95;
type Category = (typeof categories)[number];
/** Scores from 0 to 100. */
export type Scores<C extends Category = Category> = Record<C, number>;

interface Report {
  readonly categories: Record<string, { readonly score: number | null }>;
  /** Speed of this machine during the run, measured by Lighthouse. */
  readonly environment: { readonly benchmarkIndex: number };
}

/** Lighthouse's default CPU slowdown, and the `benchmarkIndex` of the machine for which that slowdown equals a phone. */
const [slowdown, referenceIndex] = [4, 1533];

/** Scores of one run with phone throttling. If a category is below the goal: the median of three runs. */
export async function lighthouse(url: string): Promise<Scores> {
  const first = await measure(url, slowdown);
  if (categories.every((name) => first.scores[name] >= goal)) return first.scores;
  // A slow or busy machine gets a smaller slowdown, so that the result still equals the same phone.
  const adjusted = Math.max(1, slowdown * Math.min(1, first.benchmarkIndex / referenceIndex));
  const all: Scores[] = [];
  if (adjusted === slowdown) all.push(first.scores);
  while (all.length < 3) all.push((await measure(url, adjusted)).scores);
  return scores(categories, (name) => all.map((one) => one[name]).sort((a, b) => a - b)[1] ?? 0);
}

async function measure(
  url: string,
  multiplier: number,
): Promise<{ readonly scores: Scores; readonly benchmarkIndex: number }> {
  const args = [`--throttling.cpuSlowdownMultiplier=${multiplier}`];
  const { categories: found, environment } = await report(url, categories, args);
  return {
    scores: scores(categories, (name) => score(found, name)),
    benchmarkIndex: environment.benchmarkIndex,
  };
}

/**
 * Scores of one run for these categories only. Without the category `performance`, Lighthouse records no trace, and
 * the scores do not depend on the speed of the machine. The full-page screenshot is switched off to save time.
 */
export async function scoresOf<C extends Category>(url: string, only: readonly C[]): Promise<Scores<C>> {
  const { categories: found } = await report(url, only, ['--disable-full-page-screenshot']);
  return scores(only, (name) => score(found, name));
}

async function report(url: string, only: readonly Category[], more: readonly string[]): Promise<Report> {
  const args = [
    cli,
    url,
    '--output=json',
    '--quiet',
    `--chrome-flags=${flags}`,
    `--only-categories=${only.join(',')}`,
    ...more,
  ];
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { stdout } = await run(process.execPath, args, {
        env: { ...process.env, CHROME_PATH: chromePath() ?? '' },
        maxBuffer: 2 ** 28,
        timeout: 180_000,
      });
      return JSON.parse(stdout) as Report;
    } catch (error) {
      if (attempt === maxAttempts) throw error;
    }
  }
}

const score = (found: Report['categories'], name: Category): number =>
  Math.round((found[name]?.score ?? 0) * 100);

function scores<C extends Category>(only: readonly C[], of: (name: C) => number): Scores<C> {
  return Object.fromEntries(only.map((name) => [name, of(name)])) as Scores<C>;
}
