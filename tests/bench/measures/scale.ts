import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { type Figure, figure, median, type Report } from '../lib/figures.ts';
import { deviceOf, fillTransactions, perApplication, type Size } from '../lib/fill.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker } from '../lib/worker.ts';
import { startWorld, type World } from '../lib/world.ts';
import type { Load } from '../load/main.ts';

const sizes: Readonly<Record<StackKind, { small: Size; large: Size; atMost: number }>> = {
  real: {
    small: { devices: 1000, transactions: 10_000 },
    large: { devices: 100_000, transactions: 2_000_000 },
    atMost: 1.2,
  },
  embedded: {
    small: { devices: 1000, transactions: 10_000 },
    large: { devices: 10_000, transactions: 100_000 },
    atMost: 1.5,
  },
};

const perPage = 50;
const pages = perApplication.transactions / perPage;
const sorts = ['transactionId', 'deviceId', 'transactionStatus', 'operationId'];
const filters = [
  '',
  'completionStatus=uncompleted',
  'completionStatus=completed',
  'completionStatus=canceled',
  `deviceId=${deviceOf(3)}`,
  `deviceId=${deviceOf(3)}&completionStatus=completed`,
];

/** A filled platform, and the calls to it. */
interface Side {
  readonly world: World;
  readonly deviceId: string;
  readonly transactionId: number;
}

/**
 * Measures whether calls stay as fast when there are many other transactions: get, create and list (pages 1 to
 * 10, every sort, order and filter) of one application, beside few and beside many applications of its size.
 * Two platforms run at the same time and get the same calls alternately; p50 is compared with p50.
 */
export async function measureScale(kind: StackKind, settings: Settings): Promise<Report> {
  const { small, large, atMost } = sizes[kind];
  const load = startWorker<Load>('load/main.ts');
  const open: World[] = [];
  const started = performance.now();
  try {
    const side = async (size: Size): Promise<Side> => {
      const world = await startWorld(kind, settings);
      open.push(world);
      const [key] = await world.devices(1);
      await load.call('addKey', await world.callbacksTo(await load.call('receiver', undefined as never)));
      await world.activate(key ? [key] : []);
      const deviceId = key?.deviceId ?? '';
      const transactionId = await create(world, deviceId);
      await fillTransactions(world, size, transactionId);
      return { world, deviceId, transactionId };
    };
    const [few, many] = [await side(small), await side(large)];
    const filledS = Math.round((performance.now() - started) / 1000);
    const calls: Record<string, ((side: Side) => Promise<unknown>)[]> = {
      'transaction get': Array.from({ length: 50 }, () => get),
      'transaction create': Array.from({ length: 50 }, () => (s) => create(s.world, s.deviceId)),
      ...Object.fromEntries(
        sorts.map((sortBy) => [`transaction list by ${sortBy}`, listsBy(sortBy)] as const),
      ),
    };
    const figures: Figure[] = [];
    for (const [name, each] of Object.entries(calls)) {
      const runs = { baseline: [] as number[], ours: [] as number[] };
      // The first round is the warm-up of both.
      for (let run = 0; run <= settings.runs; run++) {
        const times = await inTurns(each, few, many);
        if (run === 0) continue;
        runs.baseline.push(median(times.few));
        runs.ours.push(median(times.many));
      }
      figures.push(figure(`${name}, p50`, 'ms', { atMost }, runs));
    }
    const count = (size: Size) => `${size.devices} devices and ${size.transactions} transactions`;
    return {
      figures,
      notes: [
        `scale: ${count(large)} against ${count(small)}, applications of ${perApplication.devices} devices and ${perApplication.transactions} transactions; filled in ${filledS} s.`,
      ],
    };
  } finally {
    await load.stop();
    for (const world of open) await world.close();
  }
}

/** Pages 1 to 10 of every filter and order; a page beyond the end is also a valid response. */
function listsBy(sortBy: string): ((side: Side) => Promise<unknown>)[] {
  return filters.flatMap((filter) =>
    ['asc', 'desc'].flatMap((order) =>
      Array.from({ length: pages }, (_, i) => async ({ world }: Side) => {
        const query = `perPage=${perPage}&page=${i + 1}&sortBy=${sortBy}&order=${order}&${filter}`;
        return expectStatus(200, await world.api.app('GET', `/transactions?${query}`));
      }),
    ),
  );
}

const get = async ({ world, transactionId }: Side) =>
  expectStatus(200, await world.api.app('GET', `/transactions/${transactionId}`));

async function create(world: World, deviceId: string): Promise<number> {
  const body = { package: 'com.example.app', launchType: 'activity' };
  const answer = await world.api.app('PUT', `/devices/${deviceId}/commands`, body);
  return expectStatus(201, answer).body.transactionId;
}

function expectStatus<A extends { readonly status: number }>(status: number, answer: A): A {
  if (answer.status !== status) throw new Error(`answered ${answer.status} instead of ${status}`);
  return answer;
}

/** Milliseconds of each call, made to both sides one after the other. */
async function inTurns(
  calls: readonly ((side: Side) => Promise<unknown>)[],
  few: Side,
  many: Side,
): Promise<{ few: number[]; many: number[] }> {
  const times = { few: [] as number[], many: [] as number[] };
  for (const call of calls) {
    for (const [side, into] of [
      [few, times.few],
      [many, times.many],
    ] as const) {
      const begun = performance.now();
      await call(side);
      into.push(performance.now() - begun);
    }
  }
  return times;
}
