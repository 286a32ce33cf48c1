import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import type { CreateBaseline } from '../baselines/create.ts';
import type { CreateStoreBaseline } from '../baselines/create-store.ts';
import { prepareCreates } from '../lib/create-target.ts';
import { figure, interleave, type Report } from '../lib/figures.ts';
import { spendingOf } from '../lib/processor-time.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker, type Worker } from '../lib/worker.ts';
import { startWorld } from '../lib/world.ts';
import { perSecond } from '../load/arrivals.ts';
import type { CreateTarget, Load } from '../load/main.ts';

const callers = 64;
const devices = 500;

/** Measure 1: PUT command → 201, with all headsets offline. */
export async function measureCreate(kind: StackKind, settings: Settings): Promise<Report> {
  const world = await startWorld(kind, settings);
  const load = startWorker<Load>('load/main.ts');
  const baseline = startWorker<CreateBaseline>('baselines/create.ts');
  const handler = kind === 'real' ? startWorker<CreateStoreBaseline>('baselines/create-store.ts') : undefined;
  try {
    const ours = await prepareCreates(world.stack.apiUrl, world, load, devices);
    const store = { mongodbUri: world.stack.backing?.mongodbUri, directory: `${world.dir}/baseline` };
    const origin = await baseline.call('start', {
      issuer: world.stack.issuerUrl,
      store,
      ...(handler && { handlerPort: await handler.call('start', store) }),
    });
    const create = (target: CreateTarget) =>
      load.call('create', { target, callers, seconds: settings.seconds });
    const spending = spendingOf(world.stack);
    const runs = await interleave(settings.runs, {
      baseline: async () => perSecond(await create({ ...ours, origin })),
      ours: async () =>
        perSecond(
          await spending.during(
            () => create(ours),
            ({ done }) => done,
          ),
        ),
    });
    return {
      figures: [figure(`create, ${callers} callers`, '/s', { atLeast: 0.6 }, runs)],
      notes: [
        `create: ${devices} activated devices, headsets away.`,
        `processor time of a create: ${spending.inWords()}`,
      ],
    };
  } finally {
    await Promise.all([load, baseline, handler].map((w: Worker<never> | undefined) => w?.stop()));
    await world.close();
  }
}
