import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { type Figure, figure, median, type Report } from '../lib/figures.ts';
import { fillTransactions } from '../lib/fill.ts';
import { fillEvents } from '../lib/fill-events.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker } from '../lib/worker.ts';
import { startWorld, type World } from '../lib/world.ts';
import type { Load } from '../load/main.ts';

const few = 10_000;
/** Events that one reader gets. */
const followed = 20_000;
const limit = 100;
/** Pages of each side in a run. */
const pages = 90;
const eventsPerSecond = 2000;

/**
 * The event feed with one reader: events per second; a page with many stored events compared with
 * few; and a page compared with a page of the transaction list (p99).
 */
export async function measureFeed(kind: StackKind, settings: Settings): Promise<Report> {
  const load = startWorker<Load>('load/main.ts');
  const open: World[] = [];
  const started = performance.now();
  try {
    const side = async (events: number): Promise<World> => {
      const world = await startWorld(kind, settings);
      open.push(world);
      const [key] = await world.devices(1);
      await load.call('addKey', await world.callbacksTo(await load.call('receiver', undefined as never)));
      const [transactionId] = await world.activate(key ? [key] : []);
      await fillTransactions(world, { devices: 50, transactions: 500 }, transactionId ?? 0);
      await fillEvents(world, events);
      return world;
    };
    const [small, large] = [await side(few), await side(settings.feedEvents)];
    const filledS = Math.round((performance.now() - started) / 1000);
    const runs = { baseline: [] as number[], ours: [] as number[] };
    const p99 = { baseline: [] as number[], ours: [] as number[] };
    for (let run = 0; run <= settings.runs; run++) {
      const times = { small: [] as number[], large: [] as number[], list: [] as number[] };
      let [a, b] = ['', ''];
      for (let page = 0; page < pages; page++) {
        a = await timed(times.small, () => readPage(small, a));
        b = await timed(times.large, () => readPage(large, b));
        await timed(times.list, () => listPage(large));
      }
      // The first round is the warm-up.
      if (run === 0) continue;
      runs.baseline.push(median(times.small));
      runs.ours.push(median(times.large));
      p99.baseline.push(highest(times.list));
      p99.ours.push(highest(times.large));
    }
    const figures: Figure[] = [
      figure('feed page beside many events, p50', 'ms', { atMost: 1.2 }, runs),
      figure('feed page against a transaction list, p99', 'ms', { atMost: 3 }, p99),
      await throughput(large),
    ];
    return {
      figures,
      notes: [
        `feed: ${settings.feedEvents} events against ${few}, filled in ${filledS} s; pages of ${limit}.`,
      ],
    };
  } finally {
    await load.stop();
    for (const world of open) await world.close();
  }
}

async function throughput(world: World): Promise<Figure> {
  const begun = performance.now();
  let events = 0;
  for (let cursor = ''; events < followed; events += limit) cursor = await readPage(world, cursor);
  return {
    ...{ measure: 'feed, events of one reader', unit: '1/s', baseline: undefined },
    ours: events / ((performance.now() - begun) / 1000),
    goal: { atLeast: eventsPerSecond },
  };
}

async function readPage({ api }: World, after: string): Promise<string> {
  const answer = await api.app('GET', `/events?limit=${limit}${after === '' ? '' : `&after=${after}`}`);
  if (answer.status !== 200 || answer.body.events.length !== limit) {
    throw new Error(`the feed answered ${answer.status} with ${answer.body.events?.length} events`);
  }
  return answer.body.cursor;
}

async function listPage({ api }: World): Promise<void> {
  const answer = await api.app('GET', `/transactions?perPage=${limit}&page=2`);
  if (answer.status !== 200) throw new Error(`the list answered ${answer.status}`);
}

async function timed<T>(into: number[], work: () => Promise<T>): Promise<T> {
  const begun = performance.now();
  const done = await work();
  into.push(performance.now() - begun);
  return done;
}

function highest(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0;
}
