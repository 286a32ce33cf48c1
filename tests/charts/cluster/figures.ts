import type { Cluster } from './cluster.ts';
import type { Attempt } from './integrators.ts';
import type { Namespace } from './namespace.ts';
import type { Absence } from './traffic.ts';

/** A part of the run; milliseconds since 1970. */
export interface Phase {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface PhaseFigures {
  readonly calls: number;
  readonly refused: number;
  readonly unanswered: number;
  /** Longest time without a 201; milliseconds. */
  readonly longestGapMs: number;
  /** Longest time from a call's first rejection until it succeeded; milliseconds. */
  readonly longestDelayMs: number;
  /** Times that headsets were without a session after they lost theirs, ascending; milliseconds. */
  readonly absencesMs: readonly number[];
}

export function figuresOf(
  { fromMs, toMs }: Phase,
  attempts: readonly Attempt[],
  absences: readonly Absence[],
): PhaseFigures {
  const within = attempts.filter((a) => a.fromMs >= fromMs && a.fromMs < toMs);
  const made = attempts
    .filter((a) => a.status === 201 && a.toMs >= fromMs && a.toMs < toMs)
    .map((a) => a.toMs)
    .sort((a, b) => a - b);
  const times = [fromMs, ...made, toMs];
  const delays = passing(attempts).filter((p) => p.fromMs >= fromMs && p.fromMs < toMs);
  return {
    calls: new Set(within.map(({ key }) => key)).size,
    refused: within.filter((a) => a.status >= 500).length,
    unanswered: within.filter((a) => a.status === 0).length,
    longestGapMs: Math.max(...times.slice(1).map((time, i) => time - (times[i] ?? 0))),
    longestDelayMs: Math.max(0, ...delays.map((p) => p.toMs - p.fromMs)),
    absencesMs: absences
      .filter((a) => a.fromMs >= fromMs && a.fromMs < toMs)
      .map((a) => a.toMs - a.fromMs)
      .sort((a, b) => a - b),
  };
}

/** A call that did not succeed at once: from its first rejection, or the end of an attempt without an answer, until it succeeded. */
export interface Passing {
  readonly key: string;
  readonly fromMs: number;
  /** Infinity: the call never succeeded. */
  readonly toMs: number;
  readonly statuses: readonly number[];
}

export function passing(attempts: readonly Attempt[]): Passing[] {
  return [...Map.groupBy(attempts, ({ key }) => key)].flatMap(([key, own]) => {
    const vain = own.filter(({ status }) => status === 0 || status >= 500);
    if (vain.length === 0) return [];
    const good = own.find(({ status }) => status > 0 && status < 500);
    return [
      {
        key,
        fromMs: Math.min(...vain.map((attempt) => attempt.toMs)),
        toMs: good?.toMs ?? Number.POSITIVE_INFINITY,
        statuses: own.map(({ status }) => status),
      },
    ];
  });
}

/** The quantile of an ascending list: this share of the values is smaller. */
export function quantile(rising: readonly number[], share: number): number {
  return rising[Math.min(rising.length - 1, Math.floor(share * rising.length))] ?? 0;
}

/** Resource usage of all containers of a release, from their cgroups. */
export interface Usage {
  readonly workingSetBytes: number;
  readonly cpuNanoseconds: number;
  /** Time of the sample; milliseconds since 1970. */
  readonly atMs: number;
}

/** The kubelet's sample of each container's cgroup, by pod. */
export async function usageOf(
  cluster: Cluster,
  { name }: Namespace,
  wanted: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Usage>> {
  const nodes = (await cluster.kubectl(['get', 'nodes', '--output', 'name'])).split('\n').filter(Boolean);
  const found = new Map<string, Usage>();
  for (const node of nodes) {
    const path = `/api/v1/nodes/${node.replace('node/', '')}/proxy/stats/summary`;
    const { pods } = JSON.parse(await cluster.kubectl(['get', '--raw', path]));
    for (const { podRef, containers } of pods) {
      if (podRef.namespace !== name || !wanted.has(podRef.name)) continue;
      const [one] = containers;
      if (!one?.cpu?.usageCoreNanoSeconds || !one.memory?.workingSetBytes) continue;
      found.set(podRef.name, {
        workingSetBytes: one.memory.workingSetBytes,
        cpuNanoseconds: one.cpu.usageCoreNanoSeconds,
        atMs: Date.parse(one.cpu.time),
      });
    }
  }
  return found;
}
