import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker, type Worker } from '../lib/worker.ts';
import { startWorld, type World } from '../lib/world.ts';
import type { Throughput } from '../load/arrivals.ts';
import type { CreateTarget, Load } from '../load/main.ts';

export const headsets = 200;

/** A platform with activated headsets online, and a load process that handles whole jobs. */
export interface JobsWorld {
  readonly world: World;
  readonly load: Worker<Load>;
  readonly target: CreateTarget;
  readonly keys: readonly HeadsetKeyFile[];
  /** The address at which the load receives callbacks, and the key that signs them. */
  readonly callbacks: { readonly callbacks: string; readonly authenticationKey: string };
  /** Runs whole jobs until the time is over. */
  run(callers: number, seconds: number): Promise<Throughput>;
  /** Throws if anything is left: an open transaction, or a missing, undelivered or unverified callback. */
  nothingLeftOver(): Promise<void>;
  close(): Promise<void>;
}

export async function startJobsWorld(
  kind: StackKind,
  settings: Pick<Settings, 'profileDir'>,
  env: Readonly<Record<string, string>> = {},
  sources?: string,
): Promise<JobsWorld> {
  const world = await startWorld(kind, settings, env, sources);
  const load = startWorker<Load>('load/main.ts');
  const close = async () => {
    await load.stop();
    await world.close();
  };
  try {
    const keys = await world.devices(headsets);
    const callbacks = await load.call('receiver', undefined);
    const authenticationKey = await world.callbacksTo(callbacks);
    await load.call('addKey', authenticationKey);
    const activations = await world.activate(keys);
    await world.headsets(keys);
    await load.call('ended', { transactionIds: activations });
    const target = {
      origin: world.stack.apiUrl,
      token: await world.api.token(),
      applicationId: world.applicationId,
      deviceIds: keys.map((k) => k.deviceId),
    };
    return {
      world,
      load,
      target,
      keys,
      callbacks: { callbacks, authenticationKey },
      run: (callers, seconds) => load.call('jobs', { target, callers, seconds }),
      nothingLeftOver: () => nothingLeftOver(world, load),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function nothingLeftOver(world: World, load: Worker<Load>): Promise<void> {
  const open = async () => {
    const path = '/transactions?completionStatus=uncompleted&perPage=1&page=1';
    const { status, body } = await world.api.app('GET', path);
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
    return body.transactions.length as number;
  };
  const undelivered = async () => {
    const { applicationId } = world;
    const list = await world.admin.notifier.listDeliveries({ applicationId, status: 'pending', limit: 10 });
    return list.deliveries.length;
  };
  let left = '';
  await waitFor(
    'nothing to be left over',
    async () => {
      const { halves } = await load.call('leftOver', undefined);
      const counts = [await open(), await undelivered(), halves];
      left = `open transactions, undelivered callbacks (at most 1 and 10 are looked at), halves of jobs: ${counts.join(', ')}`;
      return counts.every((count) => count === 0);
    },
    { timeoutMs: 20_000, intervalMs: 100 },
  ).catch((error: Error) => {
    throw new Error(`${error.message}; ${left}`);
  });
  const { refused } = await load.call('leftOver', undefined);
  if (refused > 0) throw new Error(`${refused} callbacks had a wrong signature`);
}
