import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { chromePath, panels } from '../tests/support/browser.ts';

const run = promisify(execFile);
const cli = createRequire(import.meta.url).resolve('lighthouse/cli/index.js');
const flags = `--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-features=${panels},Translate,OptimizationHints,MediaRouter`;
/** Lighthouse gives up now and then before it has begun (NO_NAVSTART). */
const tries = 3;

export const categories = ['performance', 'accessibility', 'best-practices', 'seo'] as const;
export const goal = 95;
type Category = (typeof categories)[number];
/** Of 100. */
export type Scores<C extends Category = Category> = Record<C, number>;

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
  return scores(categories, (name) => all.map((one) => one[name]).sort((a, b) => a - b)[1] ?? 0);
}

/** One run. */
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
 * What one run says of these categories alone. Without performance it records no trace, so that nothing depends on how
 * fast or busy the machine is; the picture of the whole page would be for a reader of the report.
 */
export async function judge<C extends Category>(url: string, only: readonly C[]): Promise<Scores<C>> {
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
      if (attempt === tries) throw error;
    }
  }
}

const score = (found: Report['categories'], name: Category): number =>
  Math.round((found[name]?.score ?? 0) * 100);

function scores<C extends Category>(only: readonly C[], of: (name: C) => number): Scores<C> {
  return Object.fromEntries(only.map((name) => [name, of(name)])) as Scores<C>;
}
