import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { IdleBaseline } from '../baselines/idle.ts';
import { type Figure, figure, median, type Report } from '../lib/figures.ts';
import { processFigures } from '../lib/process-figures.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker } from '../lib/worker.ts';
import { startHeadsets, startWorld } from '../lib/world.ts';

/** How long a process is idle before it is measured, so that connecting is over; milliseconds. */
const settleMs = 5000;

/** Less than this is indistinguishable from zero within 20 s; milliseconds of CPU time per second. */
const leastCpuMs = 0.5;

/** The memory and CPU time that the headsets add to a process. */
interface Cost {
  readonly rssBytes: number;
  /** CPU time per second. */
  readonly cpuShare: number;
}

/**
 * Measure 4: headsets that are online and silent. Each side is a fresh process that is measured twice: empty
 * and with the headsets; the figures are the differences. CPU is the time used during the measurement, less
 * the time that the empty process used in the same duration.
 */
export async function measureIdle(kind: StackKind, settings: Settings): Promise<Report> {
  const runs = { baseline: [] as Cost[], ours: [] as Cost[], tls: [] as Cost[] };
  for (let run = 0; run < settings.idleRuns; run++) {
    const { cost, keys } = await ours(kind, settings);
    runs.baseline.push(await baselineCost(keys, settings));
    runs.ours.push(cost);
    runs.tls.push((await ours(kind, settings, true)).cost);
  }
  const perHeadset = (costs: readonly Cost[]) => costs.map((c) => c.rssBytes / 1024 / settings.idleHeadsets);
  const cpu = (costs: readonly Cost[]) => costs.map((c) => Math.max(c.cpuShare * 1000, leastCpuMs));
  const goal = { atMost: 1.3 };
  const figures: Figure[] = [
    figure('idle memory, a headset', 'KiB', goal, {
      baseline: perHeadset(runs.baseline),
      ours: perHeadset(runs.ours),
    }),
    figure('idle CPU', 'ms/s', goal, { baseline: cpu(runs.baseline), ours: cpu(runs.ours) }),
    {
      measure: 'idle memory, a headset, TLS more',
      unit: 'KiB',
      ours: median(perHeadset(runs.tls)) - median(perHeadset(runs.ours)),
      baseline: undefined,
      goal: { atMost: 65 },
    },
    {
      measure: 'idle CPU with TLS',
      unit: 'ms/s',
      ours: median(cpu(runs.tls)),
      baseline: undefined,
      goal: undefined,
    },
  ];
  return {
    figures,
    notes: [
      `idle: ${settings.idleHeadsets} headsets, watched for ${settings.idleSeconds} s, ${settings.idleRuns} run(s) of fresh processes; differences against the empty process.`,
    ],
  };
}

async function ours(
  kind: StackKind,
  settings: Settings,
  headsetTls = false,
): Promise<{ cost: Cost; keys: HeadsetKeyFile[] }> {
  const world = await startWorld(kind, settings, {}, undefined, headsetTls);
  try {
    const keys = await world.devices(settings.idleHeadsets);
    const { processes } = world.stack;
    const pid = (processes['device-link'] ?? processes['platform'])?.pid ?? 0;
    const cost = await costOf(pid, settings, async () => {
      await world.headsets(keys);
    });
    return { cost, keys };
  } finally {
    await world.close();
  }
}

async function baselineCost(keys: readonly HeadsetKeyFile[], settings: Settings): Promise<Cost> {
  const worker = startWorker<IdleBaseline>('baselines/idle.ts');
  const dir = mkdtempSync(join(tmpdir(), 'headset-cloud-bench-idle-'));
  try {
    const address = await worker.call('start', {});
    return await costOf(worker.pid, settings, async () => {
      const simulator = startHeadsets(dir, address, keys);
      try {
        await waitFor(
          `${keys.length} headsets at the baseline`,
          async () => (await worker.call('streams', {})) >= keys.length,
          { timeoutMs: 120_000, intervalMs: 200 },
        );
      } catch (error) {
        await simulator.kill();
        throw error;
      }
      return () => simulator.kill();
    });
  } finally {
    await worker.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function costOf(
  pid: number,
  settings: Settings,
  connect: () => Promise<(() => Promise<void>) | void>,
): Promise<Cost> {
  const empty = await watch(pid, settings.idleSeconds);
  const disconnect = await connect();
  const full = await watch(pid, settings.idleSeconds);
  await disconnect?.();
  return {
    rssBytes: full.rssBytes - empty.rssBytes,
    cpuShare: full.cpuShare - empty.cpuShare,
  };
}

async function watch(pid: number, seconds: number): Promise<Cost> {
  await pause(settleMs);
  const before = processFigures(pid);
  await pause(seconds * 1000);
  const after = processFigures(pid);
  return { rssBytes: after.rssBytes, cpuShare: (after.cpuSeconds - before.cpuSeconds) / seconds };
}
