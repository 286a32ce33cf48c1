import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { percentile, type Report } from '../lib/figures.ts';
import type { Settings } from '../lib/settings.ts';
import { perSecond } from '../load/arrivals.ts';
import { type JobsWorld, startJobsWorld } from './jobs-world.ts';

/** The platform handles a rate if this share of its jobs is done within `withinMs`. */
const share = 0.99;
const withinMs = 1000;
/** The rate rises by this factor until the platform does not handle it; then the gap is halved this many times. */
const factor = 1.25;
const halvings = 3;

/** The highest rate of jobs that arrive whether or not earlier ones have ended, with a p99 of less than 1 s. */
export async function measureCapacity(kind: StackKind, settings: Settings): Promise<Report> {
  const jobs = await startJobsWorld(kind, settings);
  try {
    await jobs.run(64, settings.seconds);
    let holds = perSecond(await jobs.run(64, settings.seconds)) / 4;
    let fails = Number.POSITIVE_INFINITY;
    const tried: string[] = [];
    const attempt = async (rate: number) => {
      const p99 = await p99At(jobs, rate, settings.seconds);
      tried.push(`${Math.round(rate)}/s ${Math.round(p99)} ms`);
      if (p99 < withinMs) holds = rate;
      else fails = rate;
    };
    while (fails === Number.POSITIVE_INFINITY) await attempt(holds * factor);
    for (let i = 0; i < halvings; i++) await attempt((holds + fails) / 2);
    await jobs.nothingLeftOver();
    return {
      figures: [
        {
          measure: 'jobs, highest rate with p99 < 1 s',
          unit: '/s',
          ours: holds,
          baseline: undefined,
          goal: undefined,
        },
      ],
      notes: [`highest rate: p99 at ${tried.join(', ')}`],
    };
  } finally {
    await jobs.close();
  }
}

/** Infinity: a job was lost under load. */
async function p99At({ load, target }: JobsWorld, rate: number, seconds: number): Promise<number> {
  try {
    return percentile(await load.call('openJobs', { target, perSecond: rate, seconds }), share);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
