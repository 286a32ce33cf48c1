import { type Part, parts } from '../world.ts';

/** Which parts are the release's; all others are today's. */
export type Configuration = readonly Part[];

/** Two services and an order of versions meet in a call or an event: of five runs each part takes part in two. */
const runs = 5;

/**
 * The fewest configurations in which each part, as the release's, meets each other one as today's, and the
 * other way round: each part is the release's in a pair of runs of its own, so that of two parts neither
 * has all runs of the other.
 */
export function pairedConfigurations(): Configuration[] {
  const pairs = Array.from({ length: runs }, (_, a) =>
    Array.from({ length: runs - a - 1 }, (_, i) => [a, a + i + 1] as const),
  ).flat();
  return Array.from({ length: runs }, (_, run) => parts.filter((_, i) => pairs[i]?.includes(run)));
}

/** Each part as the release's among today's, and as today's among the release's. */
export function singleConfigurations(): Configuration[] {
  return [...parts.map((part) => [part]), ...parts.map((part) => parts.filter((p) => p !== part))];
}
