import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { sourcesOf } from '../../support/sources.ts';
import { commitOf } from '../lib/commit.ts';
import { type Figure, figure, interleave, percentile, type Report } from '../lib/figures.ts';
import { spendingOf } from '../lib/processor-time.ts';
import type { Settings } from '../lib/settings.ts';
import { perSecond, type Throughput } from '../load/arrivals.ts';
import { type JobsWorld, startJobsWorld } from './jobs-world.ts';

/** Arrivals of the comparison at equal load: low enough for every machine; jobs/s. */
const arrivals = [10, 50] as const;

/**
 * Compares today's platform with an earlier commit (BENCH_AGAINST). Both run at the same time, each
 * on separate stores, with alternating turns of today's load and headsets. `baseline` in the table is the
 * earlier commit.
 */
export async function measureAgainst(kind: StackKind, settings: Settings): Promise<Report> {
  if (!settings.against) throw new Error('BENCH_AGAINST must name the commit to compare with.');
  const commit = commitOf(settings.against);
  const earlier = await startJobsWorld(kind, settings, {}, sourcesOf(commit));
  try {
    const today = await startJobsWorld(kind, settings);
    try {
      const reports: Report[] = [];
      for (const callers of [16, 64]) {
        reports.push(
          await compare(`jobs, ${callers} callers`, settings, { earlier, today }, (jobs) =>
            jobs.run(callers, settings.seconds),
          ),
        );
      }
      for (const rate of arrivals) reports.push(await compareLatency(rate, settings, { earlier, today }));
      await earlier.nothingLeftOver();
      await today.nothingLeftOver();
      return {
        figures: reports.flatMap((report) => report.figures),
        notes: [`baseline: commit ${commit.slice(0, 7)}`, ...reports.flatMap((report) => report.notes)],
      };
    } finally {
      await today.close();
    }
  } finally {
    await earlier.close();
  }
}

interface Sides {
  readonly earlier: JobsWorld;
  readonly today: JobsWorld;
}

/** Rate and processor time of one load, in turns. */
async function compare(
  what: string,
  settings: Settings,
  { earlier, today }: Sides,
  work: (jobs: JobsWorld) => Promise<Throughput>,
): Promise<Report> {
  const spending = { baseline: spendingOf(earlier.world.stack), ours: spendingOf(today.world.stack) };
  const run = (side: 'baseline' | 'ours', jobs: JobsWorld) => async () =>
    perSecond(
      await spending[side].during(
        () => work(jobs),
        ({ done }) => done,
      ),
    );
  const runs = await interleave(settings.runs, {
    baseline: run('baseline', earlier),
    ours: run('ours', today),
  });
  // The first run of each was the warm-up.
  const spent = { baseline: spending.baseline.each.slice(1), ours: spending.ours.each.slice(1) };
  const figures: Figure[] = [
    figure(what, '/s', { anyAtLeast: 0.95 }, runs),
    figure(`${what}, processor time of a job`, 'ms', { atMost: 1.05 }, spent),
  ];
  return {
    figures,
    notes: [
      `${what}, processor time of a job: today ${spending.ours.inWords()}`,
      `${what}, processor time of a job: earlier ${spending.baseline.inWords()}`,
    ],
  };
}

/** Time from the call to the verified callback, and processor time, of jobs that arrive at the same rate. */
async function compareLatency(rate: number, settings: Settings, { earlier, today }: Sides): Promise<Report> {
  const spending = { baseline: spendingOf(earlier.world.stack), ours: spendingOf(today.world.stack) };
  const run =
    (side: 'baseline' | 'ours', { load, target }: JobsWorld) =>
    () =>
      spending[side].during(
        () => load.call('openJobs', { target, perSecond: rate, seconds: settings.seconds }),
        ({ length }) => length,
      );
  const runs = await interleave(settings.runs, {
    baseline: run('baseline', earlier),
    ours: run('ours', today),
  });
  const what = `jobs, ${rate} arrivals/s`;
  const at = (share: number) => ({
    baseline: runs.baseline.map((times) => percentile(times, share)),
    ours: runs.ours.map((times) => percentile(times, share)),
  });
  // The first run of each was the warm-up.
  const spent = { baseline: spending.baseline.each.slice(1), ours: spending.ours.each.slice(1) };
  return {
    figures: [
      figure(`${what}, p50`, 'ms', { atMost: 1.05 }, at(0.5)),
      figure(`${what}, p99`, 'ms', undefined, at(0.99)),
      figure(`${what}, processor time of a job`, 'ms', { atMost: 1.05 }, spent),
    ],
    notes: [
      `${what}, processor time of a job: today ${spending.ours.inWords()}`,
      `${what}, processor time of a job: earlier ${spending.baseline.inWords()}`,
    ],
  };
}
