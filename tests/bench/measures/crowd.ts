import { setTimeout as pause } from 'node:timers/promises';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { sourcesOf } from '../../support/sources.ts';
import { commitOf } from '../lib/commit.ts';
import type { Figure, Report } from '../lib/figures.ts';
import { spendingOf } from '../lib/processor-time.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker } from '../lib/worker.ts';
import { startWorld } from '../lib/world.ts';
import type { Load } from '../load/main.ts';

const callers = 64;
/** Time for work that the preparation leaves behind (indexes, checkpoints); milliseconds. */
const settleMs = 5000;
/** New connections per second: practically all at once. */
const connectRate = 20_000;
/** A command without its callback after this time is lost. */
const withinSeconds = 300;

interface Crowd {
  /** Processor time of the platform's processes for each connected headset; milliseconds. */
  readonly cameMs: number;
  readonly cameSeconds: number;
  /** From the first call until the last verified callback. */
  readonly commandedSeconds: number;
  readonly came: string;
  readonly commanded: string;
}

/**
 * A fleet that connects at once (half of BENCH_CROWD_HEADSETS), and then one command to each headset. With
 * BENCH_AGAINST the platform of the earlier commit does the same before; `baseline` in the table is that platform.
 */
export async function measureCrowd(kind: StackKind, settings: Settings): Promise<Report> {
  const { against } = settings;
  const earlier = against ? await crowd(kind, settings, sourcesOf(commitOf(against))) : undefined;
  const today = await crowd(kind, settings);
  const half = Math.round(settings.crowdHeadsets / 2);
  const line = (measure: string, unit: string, of: (c: Crowd) => number, goal?: Figure['goal']): Figure => ({
    ...{ measure, unit, goal },
    ours: of(today),
    baseline: earlier && of(earlier),
  });
  return {
    figures: [
      line(`${half} headsets that come at once, processor time each`, 'ms', (c) => c.cameMs),
      line(`${half} headsets that come at once, until all are there`, 's', (c) => c.cameSeconds),
      line(`${settings.crowdHeadsets} headsets, one command each`, 's', (c) => c.commandedSeconds),
    ],
    notes: [
      `crowd, processor time of a headset that comes: ${today.came}`,
      `crowd, processor time of a command: ${today.commanded}`,
      ...(earlier ? [`crowd, earlier, of a headset that comes: ${earlier.came}`] : []),
      ...(earlier ? [`crowd, earlier, of a command: ${earlier.commanded}`] : []),
    ],
  };
}

async function crowd(kind: StackKind, settings: Settings, sources?: string): Promise<Crowd> {
  const world = await startWorld(kind, settings, {}, sources);
  const load = startWorker<Load>('load/main.ts');
  try {
    const keys = await world.devices(settings.crowdHeadsets);
    const half = Math.round(keys.length / 2);
    await pause(settleMs);
    const came = spendingOf(world.stack);
    const beganMs = performance.now();
    await came.during(
      () => world.headsets(keys.slice(0, half), 0, { connectRate }),
      () => half,
    );
    const cameSeconds = (performance.now() - beganMs) / 1000;
    await world.headsets(keys.slice(half), half);
    const callbacks = await load.call('receiver', undefined);
    await load.call('addKey', await world.callbacksTo(callbacks));
    await load.call('ended', { transactionIds: await world.activate(keys), withinSeconds });
    const target = {
      origin: world.stack.apiUrl,
      token: await world.api.token(),
      applicationId: world.applicationId,
      deviceIds: keys.map(({ deviceId }) => deviceId),
    };
    const commanded = spendingOf(world.stack);
    const commandedSeconds = await commanded.during(
      () => load.call('eachOnce', { target, callers, withinSeconds }),
      () => keys.length,
    );
    return {
      ...{ cameSeconds, commandedSeconds },
      cameMs: came.each[0] ?? Number.NaN,
      came: came.inWords(),
      commanded: commanded.inWords(),
    };
  } finally {
    await load.stop();
    await world.close();
  }
}
