import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ManagedProcess } from '@headset-cloud/demo/stack/process.ts';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { HopsBaseline } from '../baselines/hops.ts';
import type { JobHops } from '../baselines/job-hops.ts';
import type { JobsBaseline } from '../baselines/jobs.ts';
import type { BaselineStore } from '../baselines/store.ts';
import { type Figure, figure, interleave, median, percentile, type Report } from '../lib/figures.ts';
import { spendingOf } from '../lib/processor-time.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker } from '../lib/worker.ts';
import { startHeadsets } from '../lib/world.ts';
import { perSecond } from '../load/arrivals.ts';
import type { CreateTarget } from '../load/main.ts';
import { headsets, type JobsWorld, startJobsWorld } from './jobs-world.ts';

const goals = { embedded: 0.65, real: 0.35 } as const;

/** Measure 2: whole jobs, from the call to the verified callback. */
export async function measureJobs(kind: StackKind, settings: Settings): Promise<Report> {
  const jobs = await startJobsWorld(kind, settings);
  const baseline = startWorker<JobsBaseline>('baselines/jobs.ts');
  const directory = mkdtempSync(join(tmpdir(), 'headset-cloud-bench-baseline-'));
  try {
    const origin = await baseline.call('start', { directory });
    const figures: Figure[] = [];
    const notes: string[] = [];
    for (const callers of [16, 64]) {
      const spending = spendingOf(jobs.world.stack);
      const runs = await interleave(settings.runs, {
        baseline: async () =>
          perSecond(await jobs.load.call('baselineJobs', { origin, callers, seconds: settings.seconds })),
        ours: async () =>
          perSecond(
            await spending.during(
              () => jobs.run(callers, settings.seconds),
              ({ done }) => done,
            ),
          ),
      });
      figures.push(figure(`jobs, ${callers} callers`, '/s', { atLeast: goals[kind] }, runs));
      notes.push(`processor time of a job, ${callers} callers: ${spending.inWords()}`);
    }
    const hops = await besideHops(jobs, undefined, async (target) => {
      const runs = await interleave(settings.runs, {
        baseline: async () =>
          perSecond(await jobs.load.call('baselineJobs', { origin, callers: 64, seconds: settings.seconds })),
        ours: async () =>
          perSecond(await jobs.load.call('jobs', { target, callers: 64, seconds: settings.seconds })),
      });
      return figure('jobs, their bare hops, 64 callers', '/s', undefined, runs);
    });
    const store = { mongodbUri: jobs.world.stack.backing?.mongodbUri, directory: `${directory}/baseline-2` };
    const second = await besideHops(jobs, store, (target) => againstBaseline2(jobs, target, settings));
    await jobs.nothingLeftOver();
    return {
      figures: [...figures, hops, ...second],
      notes: [
        `jobs: ${headsets} headsets in one simulator process (durability none); nothing was left over.`,
        ...notes,
      ],
    };
  } finally {
    await baseline.stop();
    await jobs.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Baseline 2: the hops with the three durable writes, in a store of the same kind as the platform's. */
async function againstBaseline2(
  jobs: JobsWorld,
  target: CreateTarget,
  { runs, seconds }: Settings,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const callers of [16, 64]) {
    const both = await interleave(runs, {
      baseline: async () => perSecond(await jobs.load.call('jobs', { target, callers, seconds })),
      ours: async () => perSecond(await jobs.run(callers, seconds)),
    });
    figures.push(figure(`jobs, baseline 2, ${callers} callers`, '/s', undefined, both));
  }
  return figures;
}

/**
 * Runs `measure` together with a job's hops without other work, which use separate headsets; with a store they are
 * baseline 2.
 */
async function besideHops<T>(
  jobs: JobsWorld,
  store: BaselineStore | undefined,
  measure: (target: CreateTarget) => Promise<T>,
): Promise<T> {
  const hops = startWorker<JobHops>('baselines/job-hops.ts');
  let simulator: ManagedProcess | undefined;
  try {
    const { origin, address } = await hops.call('start', { ...jobs.callbacks, ...(store && { store }) });
    simulator = startHeadsets(jobs.world.dir, address, jobs.keys);
    await waitFor('the headsets', async () => (await hops.call('streams', {})) >= headsets);
    return await measure({ ...jobs.target, origin });
  } finally {
    await simulator?.kill();
    await hops.stop();
  }
}

/** Measure 3: jobs at a quarter of the rate that 64 callers reach, against the sum of their bare hops. */
export async function measureLatency(kind: StackKind, settings: Settings): Promise<Report> {
  const jobs = await startJobsWorld(kind, settings);
  const baseline = startWorker<HopsBaseline>('baselines/hops.ts');
  try {
    const rate = await quarterRate(jobs, settings.seconds);
    const hops = await baseline.call('start', {});
    const { seconds } = settings;
    const runs = await interleave(settings.runs, {
      baseline: () => jobs.load.call('openHops', { ...hops, perSecond: rate, seconds }),
      ours: () => jobs.load.call('openJobs', { target: jobs.target, perSecond: rate, seconds }),
    });
    await jobs.nothingLeftOver();
    const at = (share: number) => ({
      baseline: runs.baseline.map((times) => percentile(times, share)),
      ours: runs.ours.map((times) => percentile(times, share)),
    });
    return {
      figures: [
        figure('latency p50', 'ms', undefined, at(0.5)),
        figure('latency p99', 'ms', { atMost: 3 }, at(0.99)),
      ],
      notes: [`latency: open loop, ${Math.round(rate)} jobs/s, a quarter of what 64 callers reach.`],
    };
  } finally {
    await baseline.stop();
    await jobs.close();
  }
}

async function quarterRate(jobs: JobsWorld, seconds: number): Promise<number> {
  await jobs.run(64, seconds);
  const rates: number[] = [];
  for (let run = 0; run < 3; run++) rates.push(perSecond(await jobs.run(64, seconds)));
  return median(rates) / 4;
}
