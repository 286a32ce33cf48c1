import { type Part, parts } from '../world.ts';

/** Parts that run in the release's version. All other parts run in the current version. */
export type Configuration = readonly Part[];

/** Number of runs: each part can get its own pair of runs (see pairedConfigurations). */
const runs = 5;

/**
 * Minimum set of configurations in which each part of the release runs together with each other part of the current
 * version. Each part has the release's version in its own pair of runs, so no part's runs include all runs of another.
 */
export function pairedConfigurations(): Configuration[] {
  const pairs = Array.from({ length: runs }, (_, a) =>
    Array.from({ length: runs - a - 1 }, (_, i) => [a, a + i + 1] as const),
  ).flat();
  return Array.from({ length: runs }, (_, run) => parts.filter((_, i) => pairs[i]?.includes(run)));
}

/** Configurations with one part of the release, and configurations with one part of the current version. */
export function singleConfigurations(): Configuration[] {
  return [...parts.map((part) => [part]), ...parts.map((part) => parts.filter((p) => p !== part))];
}
