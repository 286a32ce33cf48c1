import { setTimeout as pause } from 'node:timers/promises';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { createShares } from '@headset-cloud/gateway/shares/shares.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { prepareCreates } from '../lib/create-target.ts';
import { type Figure, figure, interleave, median, percentile, type Report } from '../lib/figures.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker } from '../lib/worker.ts';
import { startWorld } from '../lib/world.ts';
import type { Load } from '../load/main.ts';

/** Calls per second of a client: low enough that this machine's load can send ten times as much. */
const rate = 50;
const devices = 50;
/** The flood begins with the burst that its limit allows; the measurement starts after it; seconds. */
const burstSeconds = 2;

/**
 * Cost and effect of limits (ADR 0040): the limiter's time for a call, and the p99 of one tenant's
 * creates while another tenant sends ten times its rate, compared with the p99 while the other tenant keeps its rate.
 */
export async function measureShares(kind: StackKind, settings: Settings): Promise<Report> {
  const load = startWorker<Load>('load/main.ts');
  const flood = startWorker<Load>('load/main.ts');
  // Enough for a p99.
  const seconds = Math.max(settings.seconds, 10);
  const world = await startWorld(kind, settings);
  const { apiUrl } = world.stack;
  try {
    const own = await prepareCreates(apiUrl, world, load, devices);
    const greedy = await prepareCreates(apiUrl, await world.neighbour(), flood, devices);
    for (const { applicationId } of [own, greedy]) {
      await world.admin.devices.putContract({
        applicationId,
        activationLimit: 100_000,
        limits: { callsPerSecond: rate, callsBurst: rate },
      });
    }
    const at99 = async () =>
      percentile(await load.call('creates', { target: own, perSecond: rate * 0.8, seconds }), 0.99);
    const answered = { 201: 0, 429: 0 };
    const beside = async (perSecond: number) => {
      const flooding = flood.call('flood', { target: greedy, perSecond, seconds: seconds + burstSeconds });
      await pause(1000 * burstSeconds);
      const p99 = await at99();
      const counts = await flooding;
      answered[201] += counts[201];
      answered[429] += counts[429];
      return p99;
    };
    const alone: number[] = [];
    const runs = await interleave(settings.runs, {
      baseline: async () => {
        alone.push(await at99());
        return beside(rate);
      },
      ours: () => beside(rate * 10),
    });
    if (answered[429] < answered[201]) throw new Error('the greedy client was not limited');
    const keepsToIt = median(runs.baseline);
    // 25 % more, or 10 ms, whichever is more.
    const goal = { atMost: Math.max(1.25, (keepsToIt + 10) / keepsToIt) };
    return {
      figures: [
        limiterCost(),
        figure('create p99 beside a client at ten times its rate', 'ms', goal, runs),
        figure('the same beside a client at its rate, against none', 'ms', undefined, {
          baseline: alone.slice(-settings.runs),
          ours: runs.baseline,
        }),
      ],
      notes: [
        `shares: ${rate} calls/s a client; one sends ${rate * 10}/s (${answered[201]} answered 201, ${answered[429]} 429), the other ${rate * 0.8}/s.`,
      ],
    };
  } finally {
    await Promise.all([load.stop(), flood.stop()]);
    await world.close();
  }
}

/** The limiter's time for a changing call, with 10,000 clients of one device each and reports to other gateways. */
function limiterCost(): Figure {
  const shares = createShares({ clock: systemClock, hasPeers: true });
  const limits = {
    callsPerSecond: 1000,
    callsBurst: 1000,
    callsUnderWay: 1000,
    deviceChangesPerSecond: 1000,
  };
  const clients = 10_000;
  const rounds = 20;
  const us: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const begunMs = performance.now();
    for (let i = 0; i < clients; i++) {
      const leave = shares.enter(`client-${i}`, 'application', limits);
      shares.change(`client-${i}`, `device-${i}`, limits);
      leave();
    }
    shares.addReports('another', shares.takeReports());
    us.push((1000 * (performance.now() - begunMs)) / clients);
  }
  return {
    measure: 'limiter, a call',
    unit: 'µs',
    ours: median(us),
    baseline: undefined,
    goal: { atMost: 30 },
  };
}
