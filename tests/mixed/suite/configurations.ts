import { type Part, parts } from '../world.ts';

/** The parts that run as the release; all others run as today's. */
export type Configuration = readonly Part[];

/** Of five runs, each part is the release's in its own pair of runs, as pairedConfigurations needs it. */
const runs = 5;

/**
 * The minimum of configurations in which each part of the release runs together with each other part of
 * today, and vice versa. Each part is the release's in its own pair of runs, so that of two parts neither has
 * all runs of the other.
 */
export function pairedConfigurations(): Configuration[] {
  const pairs = Array.from({ length: runs }, (_, a) =>
    Array.from({ length: runs - a - 1 }, (_, i) => [a, a + i + 1] as const),
  ).flat();
  return Array.from({ length: runs }, (_, run) => parts.filter((_, i) => pairs[i]?.includes(run)));
}

/** Each part as the release's among today's parts, and as today's among the release's. */
export function singleConfigurations(): Configuration[] {
  return [...parts.map((part) => [part]), ...parts.map((part) => parts.filter((p) => p !== part))];
}
