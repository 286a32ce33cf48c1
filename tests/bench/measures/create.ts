import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import type { CreateFloor } from '../floors/create.ts';
import type { CreateStoreFloor } from '../floors/create-store.ts';
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
  const floor = startWorker<CreateFloor>('floors/create.ts');
  const handler = kind === 'real' ? startWorker<CreateStoreFloor>('floors/create-store.ts') : undefined;
  try {
    const ours = await prepareCreates(world.stack.apiUrl, world, load, devices);
    const store = { mongodbUri: world.stack.backing?.mongodbUri, directory: `${world.dir}/floor` };
    const origin = await floor.call('start', {
      issuer: world.stack.issuerUrl,
      store,
      ...(handler && { handlerPort: await handler.call('start', store) }),
    });
    const create = (target: CreateTarget) =>
      load.call('create', { target, callers, seconds: settings.seconds });
    const spending = spendingOf(world.stack);
    const runs = await interleave(settings.runs, {
      floor: async () => perSecond(await create({ ...ours, origin })),
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
    await Promise.all([load, floor, handler].map((w: Worker<never> | undefined) => w?.stop()));
    await world.close();
  }
}
