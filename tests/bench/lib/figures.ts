import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { turnsDone } from './progress.ts';

/**
 * The goal of a measure: a minimum or maximum of the ratio or, without a baseline, of the figure itself.
 * `anyAtLeast`: missed only if the ratio of every pair of runs is lower.
 */
export type Goal =
  | { readonly atLeast: number }
  | { readonly atMost: number }
  | { readonly anyAtLeast: number };

/** One line of the table. */
export interface Figure {
  readonly measure: string;
  readonly unit: string;
  readonly ours: number;
  /** Undefined: the goal is absolute. */
  readonly baseline: number | undefined;
  /** The smallest and largest ratio of a pair of runs. */
  readonly spread?: readonly [number, number];
  /** Undefined: for information only. */
  readonly goal: Goal | undefined;
}

/** The figures of a measure, with notes. */
export interface Report {
  readonly figures: readonly Figure[];
  /** Lines for the reader: conditions, and what was checked. */
  readonly notes: readonly string[];
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle] as number;
  return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** The percentile: `share` of all values are not above it. NaN when there are no values. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** The ratio of the medians; without a baseline the figure itself. */
export function ratioOf({ ours, baseline }: Figure): number {
  return baseline === undefined ? ours : ours / baseline;
}

/** Undefined: the figure has no goal. */
export function reached(figure: Figure): boolean | undefined {
  const { goal } = figure;
  if (!goal) return undefined;
  if ('anyAtLeast' in goal) return (figure.spread?.[1] ?? ratioOf(figure)) >= goal.anyAtLeast;
  const value = ratioOf(figure);
  return 'atLeast' in goal ? value >= goal.atLeast : value <= goal.atMost;
}

/**
 * Runs baseline and platform alternately (baseline, ours, baseline, ours …) after one warm-up of each, so that other
 * load of the machine affects both. Returns the medians and the spread of the pairs' ratios.
 */
export async function interleave<T>(
  runs: number,
  sides: { readonly baseline: () => Promise<T>; readonly ours: () => Promise<T> },
): Promise<{ baseline: T[]; ours: T[] }> {
  await sides.baseline();
  await sides.ours();
  turnsDone(1, runs + 1);
  const results = { baseline: [] as T[], ours: [] as T[] };
  for (let run = 0; run < runs; run++) {
    results.baseline.push(await sides.baseline());
    results.ours.push(await sides.ours());
    turnsDone(run + 2, runs + 1);
  }
  return results;
}

/** A figure from the runs of both sides. */
export function figure(
  measure: string,
  unit: string,
  goal: Goal | undefined,
  runs: { readonly baseline: readonly number[]; readonly ours: readonly number[] },
): Figure {
  const ratios = runs.ours.map((value, i) => value / (runs.baseline[i] as number));
  return {
    measure,
    unit,
    goal,
    ours: median(runs.ours),
    baseline: median(runs.baseline),
    spread: [Math.min(...ratios), Math.max(...ratios)],
  };
}

const headings = ['stack', 'measure', 'ours', 'baseline', 'ratio', 'spread', 'goal', ''];

/** The table of all figures, as plain text that is also Markdown. */
export function table(rows: readonly { readonly stack: StackKind; readonly figure: Figure }[]): string {
  const cells = rows.map(({ stack, figure: f }) => [
    stack,
    f.measure,
    `${round(f.ours)} ${f.unit}`,
    f.baseline === undefined ? '' : `${round(f.baseline)} ${f.unit}`,
    f.baseline === undefined ? '' : ratioOf(f).toFixed(2),
    f.spread ? `${f.spread[0].toFixed(2)} to ${f.spread[1].toFixed(2)}` : '',
    f.goal ? goalInWords(f.goal) : '',
    !f.goal ? '' : reached(f) ? 'ok' : 'missed',
  ]);
  const widths = headings.map((h, i) => Math.max(h.length, ...cells.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]) => `| ${row.map((c, i) => c.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [line(headings), line(widths.map((w) => '-'.repeat(w))), ...cells.map(line)].join('\n');
}

function goalInWords(goal: Goal): string {
  if ('anyAtLeast' in goal) return `any ≥ ${goal.anyAtLeast}`;
  return 'atLeast' in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`;
}

function round(value: number): string {
  return value >= 100 ? Math.round(value).toString() : value.toPrecision(3);
}
