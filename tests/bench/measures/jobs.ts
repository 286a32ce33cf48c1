import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StackKind } from '../../support/stack/stack.ts';
import type { HopsFloor } from '../floors/hops.ts';
import type { JobsFloor } from '../floors/jobs.ts';
import { type Figure, figure, interleave, median, percentile, type Report } from '../lib/figures.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker } from '../lib/worker.ts';
import { headsets, type JobsWorld, startJobsWorld } from './jobs-world.ts';

const goals = { embedded: 0.65, real: 0.35 } as const;

/** Measure 2: whole jobs, from the call to the verified callback. */
export async function measureJobs(kind: StackKind, settings: Settings): Promise<Report> {
  const jobs = await startJobsWorld(kind, settings);
  const floor = startWorker<JobsFloor>('floors/jobs.ts');
  const directory = mkdtempSync(join(tmpdir(), 'headset-cloud-bench-floor-'));
  try {
    const origin = await floor.call('start', { directory });
    const figures: Figure[] = [];
    const notes: string[] = [];
    for (const callers of [16, 64]) {
      const spent: Spent = { jobs: 0, seconds: {} };
      const runs = await interleave(settings.runs, {
        floor: async () => {
          const { seconds } = settings;
          const result = await jobs.load.call('floorJobs', { origin, callers, seconds });
          return result.done / result.seconds;
        },
        ours: () => spending(jobs, callers, settings.seconds, spent),
      });
      figures.push(figure(`jobs, ${callers} callers`, '/s', { atLeast: goals[kind] }, runs));
      notes.push(`processor time of a job, ${callers} callers: ${inWords(spent)}`);
    }
    await jobs.nothingLeftOver();
    return {
      figures,
      notes: [
        `jobs: ${headsets} headsets in one simulator process (durability none); nothing was left over.`,
        ...notes,
      ],
    };
  } finally {
    await floor.stop();
    await jobs.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Processor time of the platform's processes, and the jobs done in it. */
interface Spent {
  jobs: number;
  readonly seconds: Record<string, number>;
}

/** One run's rate; its processor time is added to `spent`. */
async function spending(jobs: JobsWorld, callers: number, seconds: number, spent: Spent): Promise<number> {
  const before = jobs.processorTime();
  const rate = await jobs.rate(callers, seconds);
  for (const [name, after] of Object.entries(jobs.processorTime())) {
    spent.seconds[name] = (spent.seconds[name] ?? 0) + after - (before[name] ?? 0);
  }
  spent.jobs += rate * seconds;
  return rate;
}

function inWords({ jobs, seconds }: Spent): string {
  const perJob = Object.entries(seconds).map(([name, s]) => ({ name, ms: (1000 * s) / jobs }));
  const sum = perJob.reduce((total, { ms }) => total + ms, 0);
  const parts = perJob.sort((a, b) => b.ms - a.ms).map(({ name, ms }) => `${name} ${ms.toFixed(2)}`);
  return `${sum.toFixed(2)} ms (${parts.join(', ')})`;
}

/** Measure 3: jobs that arrive at a quarter of what 64 callers reach, against the sum of their bare hops. */
export async function measureLatency(kind: StackKind, settings: Settings): Promise<Report> {
  const jobs = await startJobsWorld(kind, settings);
  const floor = startWorker<HopsFloor>('floors/hops.ts');
  try {
    const perSecond = await quarterRate(jobs, settings.seconds);
    const hops = await floor.call('start', {});
    const { seconds } = settings;
    const runs = await interleave(settings.runs, {
      floor: () => jobs.load.call('openHops', { ...hops, perSecond, seconds }),
      ours: () => jobs.load.call('openJobs', { target: jobs.target, perSecond, seconds }),
    });
    await jobs.nothingLeftOver();
    const at = (share: number) => ({
      floor: runs.floor.map((times) => percentile(times, share)),
      ours: runs.ours.map((times) => percentile(times, share)),
    });
    return {
      figures: [
        figure('latency p50', 'ms', undefined, at(0.5)),
        figure('latency p99', 'ms', { atMost: 3 }, at(0.99)),
      ],
      notes: [`latency: open loop, ${Math.round(perSecond)} jobs/s, a quarter of what 64 callers reach.`],
    };
  } finally {
    await floor.stop();
    await jobs.close();
  }
}

async function quarterRate(jobs: JobsWorld, seconds: number): Promise<number> {
  await jobs.rate(64, seconds);
  const rates = [await jobs.rate(64, seconds), await jobs.rate(64, seconds), await jobs.rate(64, seconds)];
  return median(rates) / 4;
}
