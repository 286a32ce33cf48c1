import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { prepareCreates } from '../lib/create-target.ts';
import { figure, interleave, median, type Report } from '../lib/figures.ts';
import { processFigures } from '../lib/process-figures.ts';
import { type Spending, spendingOf } from '../lib/processor-time.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker } from '../lib/worker.ts';
import { startWorld, type World } from '../lib/world.ts';
import { perSecond, type Throughput } from '../load/arrivals.ts';
import type { CreateTarget, Load } from '../load/main.ts';

const callers = 64;
const devices = 200;

interface Side {
  readonly world: World;
  readonly target: CreateTarget;
  readonly spending: Spending;
}

/**
 * Cost of mutual TLS between the services (ADR 0037): creates with and without it, in alternating turns on two
 * platforms. The embedded stack is one process without TLS.
 */
export async function measureRpcTls(kind: StackKind, settings: Settings): Promise<Report> {
  if (kind === 'embedded')
    return { figures: [], notes: ['mutual TLS: one process makes no calls over the network.'] };
  const load = startWorker<Load>('load/main.ts');
  const open: World[] = [];
  try {
    const side = async (RPC_TLS_MODE: string): Promise<Side> => {
      const world = await startWorld(kind, settings, { RPC_TLS_MODE });
      open.push(world);
      return {
        world,
        target: await prepareCreates(world.stack.apiUrl, world, load, devices),
        spending: spendingOf(world.stack),
      };
    };
    const without = await side('none');
    const mutual = await side('required');
    const create = ({ target, spending }: Side) =>
      spending.during<Throughput>(
        () => load.call('create', { target, callers, seconds: settings.seconds }),
        ({ done }) => done,
      );
    const runs = await interleave(settings.runs, {
      baseline: async () => perSecond(await create(without)),
      ours: async () => perSecond(await create(mutual)),
    });
    const [before, after] = [memoryOf(without.world), memoryOf(mutual.world)];
    return {
      figures: [
        figure(`create with mutual TLS, ${callers} callers`, '/s', { atLeast: 0.9 }, runs),
        figure('the same, processor time', 'ms', undefined, {
          baseline: [median(without.spending.each)],
          ours: [median(mutual.spending.each)],
        }),
        figure('memory of all processes, with mutual TLS', 'MiB', undefined, {
          baseline: [before],
          ours: [after],
        }),
      ],
      notes: [
        `create without TLS: ${without.spending.inWords()}`,
        `create with mutual TLS: ${mutual.spending.inWords()}`,
      ],
    };
  } finally {
    await load.stop();
    for (const world of open) await world.close();
  }
}

/** Resident memory of the services and the gateway after the load; MiB. */
function memoryOf({ stack: { processes } }: World): number {
  const { issuer: _issuer, ...own } = processes;
  const bytes = Object.values(own).map(({ pid }) => processFigures(pid).rssBytes);
  return bytes.reduce((a, b) => a + b, 0) / 2 ** 20;
}
