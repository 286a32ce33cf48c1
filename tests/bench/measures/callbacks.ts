import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import type { CallbacksBaseline } from '../baselines/callbacks.ts';
import { figure, interleave, median, percentile, type Report } from '../lib/figures.ts';
import { callbackBody, preciseNow } from '../lib/notifications.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker, type Worker } from '../lib/worker.ts';
import type { Sink } from '../surroundings/sink.ts';
import { type NotifierWorld, startNotifierWorld } from './notifier-world.ts';

const endpoints = 10;
/** A fifth of the endpoints. */
const hanging = 2;
/** The notifier's NOTIFIER_ENDPOINT_CONCURRENCY; the baseline uses the same number. */
const inFlight = 16;
/** Number of published notifications that have not arrived: enough that the notifier never waits. */
const backlog = 2000;
const chunk = 500;

/** Measure 5: callbacks per second of one notifier, and the effect of hanging endpoints on healthy ones. */
export async function measureCallbacks(kind: StackKind, settings: Settings): Promise<Report> {
  const sink = startWorker<Sink>('surroundings/sink.ts');
  const baseline = startWorker<CallbacksBaseline>('baselines/callbacks.ts');
  const opened = await sink.call('open', { healthy: endpoints, hanging });
  const healthy = opened.healthy.map((_, i) => `healthy-${i}`);
  const hung = opened.hanging.map((_, i) => `hanging-${i}`);
  const urls = Object.fromEntries([
    ...healthy.map((id, i) => [id, opened.healthy[i] as string]),
    ...hung.map((id, i) => [id, opened.hanging[i] as string]),
  ]);
  const world = await startNotifierWorld(kind, settings, urls);
  try {
    await baseline.call('open', world.baselineStore);
    const { seconds } = settings;
    const rates = await interleave(settings.runs, {
      baseline: async () => {
        const body = callbackBody('healthy-0', preciseNow());
        const result = await baseline.call('post', { urls: opened.healthy, seconds, inFlight, body });
        return result.done / result.seconds;
      },
      ours: () => rate(world, sink, healthy, seconds),
    });
    const perSecond = median(rates.ours) / 4;
    const p99 = async (others: readonly string[]) => {
      const measured = healthy.slice(0, endpoints - hanging);
      const applicationIds = [...measured, ...others];
      await sink.call('reset', {});
      await world.publisher.call('publishOpen', { applicationIds, perSecond, seconds });
      const share = (others[0]?.startsWith('hanging') ? measured.length : applicationIds.length) / endpoints;
      await sink.call('arrived', Math.floor(Math.round(perSecond * seconds) * share));
      return percentile(await sink.call('times', {}), 0.99);
    };
    const times = await interleave(settings.runs, {
      baseline: () => p99(healthy.slice(endpoints - hanging)),
      ours: () => p99(hung),
    });
    return {
      figures: [
        figure('callbacks', '/s', { atLeast: 0.5 }, rates),
        figure('callbacks p99, a fifth hangs', 'ms', { atMost: 1.25 }, times),
      ],
      notes: [
        `callbacks: ${endpoints} endpoints with ${inFlight} in flight each. p99 from publishing to arrival at the healthy ones, at ${Math.round(perSecond)}/s; its baseline is the same notifier while none hangs.`,
      ],
    };
  } finally {
    await Promise.all([sink.stop(), baseline.stop()]);
    await world.close();
  }
}

/** Callbacks per second while the log always has more notifications. */
async function rate(
  world: NotifierWorld,
  sink: Worker<Sink>,
  applicationIds: readonly string[],
  seconds: number,
): Promise<number> {
  await sink.call('reset', {});
  const began = performance.now();
  let published = 0;
  while (performance.now() - began < seconds * 1000) {
    await world.publisher.call('publish', { applicationIds, count: chunk });
    published += chunk;
    await sink.call('arrived', published - backlog);
  }
  await sink.call('arrived', published);
  return (published * 1000) / (performance.now() - began);
}
