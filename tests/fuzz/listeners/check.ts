import type { Outcome } from './listener.ts';

/** Time limit for an answer; milliseconds. */
export const longestMs = 10_000;

/** Maximum share of a listener's cases that a limit may reject. */
const mostLimited = 0.03;
const mebi = 1024 ** 2;

/** A rejection by a limit: 503 with Retry-After. */
export function isLimited({ status, retryAfter }: Outcome): boolean {
  return status === 503 && /^[1-9]\d*$/.test(retryAfter ?? '');
}

/** Returns the problem of one case; undefined: none. */
export function checkCase(outcome: Outcome): string | undefined {
  const { status, wrong, expectsAnswer } = outcome;
  if (wrong !== undefined) return wrong;
  if (status !== undefined && status >= 500 && !isLimited(outcome)) return `answered with ${status}`;
  if (expectsAnswer && status === undefined) return `no answer within ${longestMs} ms`;
  return undefined;
}

/** Returns problems of a listener's cases in total. */
export function checkListener(counts: ReadonlyMap<string, number>, limited: number): string[] {
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return [
    ...(all < 20 ? [`only ${all} cases were tried`] : []),
    ...(limited > all * mostLimited ? [`${limited} of ${all} cases were rejected by a limit`] : []),
  ];
}

/** Memory of a process of the platform; bytes. */
export interface Held {
  readonly heap: number;
  readonly resident: number;
}

/** Permitted growth by caches, compiled code and the stores' own memory; bytes. */
export const mostGrowth: Held = { heap: 48 * mebi, resident: 256 * mebi };

/** Returns the processes whose memory grew beyond the bounds. */
export function checkGrowth(
  before: Readonly<Record<string, Held>>,
  after: Readonly<Record<string, Held>>,
): string[] {
  return Object.entries(after).flatMap(([name, now]) => {
    const then = before[name] ?? now;
    return (['heap', 'resident'] as const)
      .filter((what) => now[what] - then[what] > mostGrowth[what])
      .map((what) => `${name}: ${what} memory grew by ${Math.round((now[what] - then[what]) / mebi)} MiB`);
  });
}

/**
 * Log lines about usage of Sora's webhooks that billing rejects: two different ends of one connection, or impossible
 * times. They are errors for operators, because bills are affected. Any sender with an endpoint's secret can cause
 * them.
 */
export const forOperators = /the usage is known with other content|not usage: (?:started_at|duration)_ms/;

/** Returns log lines that external input must not cause. */
export function checkLog(name: string, text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && isTrouble(line))
    .map((line) => `${name}: ${line.slice(0, 500)}`);
}

function isTrouble(line: string): boolean {
  try {
    if (forOperators.test(line)) return false;
    const level = (JSON.parse(line) as { level?: unknown } | null)?.level;
    return (
      typeof level !== 'string' || ['error', 'fatal'].includes(level) || /unhandled|uncaught/i.test(line)
    );
  } catch {
    return true;
  }
}

/** Returns parts of unchangeable data that have changed. */
export function checkUnchanged(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): string[] {
  const text = (value: unknown) =>
    JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? String(v) : v)) ?? 'nothing';
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((part) => text(before[part]) !== text(after[part]))
    .map(
      (part) =>
        `${part} changed: ${text(before[part]).slice(0, 1000)} is now ${text(after[part]).slice(0, 1000)}`,
    );
}
