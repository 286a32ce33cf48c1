import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { request } from 'undici';
import { figure, interleave, percentile, type Report } from '../lib/figures.ts';
import { fillTransactions } from '../lib/fill.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker } from '../lib/worker.ts';
import { startWorld, type World } from '../lib/world.ts';
import type { Load } from '../load/main.ts';

/** Ended transactions of each platform; BENCH_RETENTION_ROWS. */
const rowsOf: Readonly<Record<StackKind, number>> = { embedded: 2_000_000, real: 200_000 };
const callers = 8;

interface Side {
  readonly world: World;
  readonly deviceId: string;
  readonly transactionId: number;
}

/**
 * Measures whether deletion affects other calls (ADR 0045): p99 of calls while ended transactions are
 * deleted, compared with the same calls to a platform that keeps as many.
 */
export async function measureRetention(kind: StackKind, settings: Settings): Promise<Report> {
  const rows = settings.retentionRows ?? rowsOf[kind];
  const load = startWorker<Load>('load/main.ts');
  const open: World[] = [];
  try {
    const side = async (env: Readonly<Record<string, string>>): Promise<Side> => {
      const world = await startWorld(kind, settings, env);
      open.push(world);
      const [key] = await world.devices(1);
      await load.call('addKey', await world.callbacksTo(await load.call('receiver', undefined as never)));
      await world.activate(key ? [key] : []);
      const deviceId = key?.deviceId ?? '';
      const transactionId = await create(world, deviceId);
      await fillTransactions(world, { devices: 1000, transactions: rows }, transactionId);
      return { world, deviceId, transactionId };
    };
    const keeping = await side({});
    const deleting = await side({ TRANSACTIONS_KEEP_DAYS: '0', RETENTION_INTERVAL_MS: '1000' });
    const before = await deleted(deleting.world);
    const begunMs = performance.now();
    const at99 = async (of: Side) => percentile(await calls(of, settings.seconds), 0.99);
    const runs = await interleave(settings.runs, {
      baseline: () => at99(keeping),
      ours: () => at99(deleting),
    });
    const gone = (await deleted(deleting.world)) - before;
    const seconds = (performance.now() - begunMs) / 1000;
    if (gone === 0) throw new Error('nothing was deleted meanwhile');
    if (before + gone >= rows) throw new Error('all was deleted before the end: more rows are needed');
    return {
      figures: [
        figure(`calls p99 while transactions are deleted, ${callers} callers`, 'ms', { atMost: 1.25 }, runs),
      ],
      notes: [
        `retention: ${rows} ended transactions on each platform; ${gone} were deleted in ${Math.round(seconds)} s (${Math.round(gone / seconds)}/s).`,
      ],
    };
  } finally {
    await load.stop();
    for (const world of open) await world.close();
  }
}

/** Times of creates and reads by several callers, sorted; milliseconds. */
async function calls({ world, deviceId, transactionId }: Side, seconds: number): Promise<number[]> {
  const times: number[] = [];
  const endMs = performance.now() + seconds * 1000;
  const caller = async () => {
    for (let n = 0; performance.now() < endMs; n++) {
      const begunMs = performance.now();
      if (n % 2 === 0) await create(world, deviceId);
      else expectStatus(200, await world.api.app('GET', `/transactions/${transactionId}`));
      times.push(performance.now() - begunMs);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return times.sort((a, b) => a - b);
}

async function create(world: World, deviceId: string): Promise<number> {
  const body = { package: 'com.example.app', launchType: 'activity' };
  const answer = await world.api.app('PUT', `/devices/${deviceId}/commands`, body);
  return expectStatus(201, answer).body.transactionId;
}

function expectStatus<A extends { readonly status: number }>(status: number, answer: A): A {
  if (answer.status !== status) throw new Error(`answered ${answer.status} instead of ${status}`);
  return answer;
}

/** Number of transactions that the platform's retention has deleted. */
async function deleted({ stack }: World): Promise<number> {
  const url = stack.adminUrls['transactions'] ?? stack.adminUrls['platform'];
  const text = await (await request(`${url}/metrics`)).body.text();
  const line = /^headset_retention_deleted_total\{[^}]*kind="transactions"[^}]*\} (\S+)$/m.exec(text);
  return Number(line?.[1] ?? Number.NaN);
}
