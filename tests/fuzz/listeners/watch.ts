import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { forOperators, type Held, longestMs } from './check.ts';
import { expected, type World, watchedPath } from './world.ts';

/** Returns data that the listeners must not change: data of the watched application, and the platform's totals. */
export async function unchangeable({
  admin,
  watched,
  watchedSora,
  sink,
}: World): Promise<Record<string, unknown>> {
  const { api, applicationId, devices } = watched;
  const deviceId = devices[0]?.deviceId ?? '';
  const get = (path: string) => expected(api, 200, 'GET', path);
  const now = new Date();
  const month = { year: now.getUTCFullYear(), month: now.getUTCMonth() + 1 };
  const { endpoints } = await admin.communication.listEndpoints({});
  const { developers } = await admin.devices.listDevelopers({});
  const applications = await Promise.all(
    developers.map(
      async ({ developerId }) => (await admin.devices.listApplications({ developerId })).applications,
    ),
  );
  const lists = await Promise.all(
    admin.deadLetters.map(async (one) => (await one.listDeadLetters({ limit: 1000 })).deadLetters),
  );
  return {
    settings: await get(''),
    activation: await get(`/devices/${deviceId}`),
    status: await get(`/devices/${deviceId}/status`),
    transactions: await get('/transactions'),
    software: await get('/apps'),
    contract: (await admin.devices.getContract({ applicationId })).contract,
    keys: (await admin.devices.listHeadsetKeys({ deviceId })).keys.map(({ keyId, name }) => [keyId, name]),
    usage: (await admin.billing.listUsage({ applicationId, ...month, limit: 100 })).usage,
    plans: (await admin.billing.listPlans({ applicationId })).plans,
    places: endpoints.find(({ endpointId }) => endpointId === watchedSora.endpointId)?.taken,
    endpoints: endpoints.map(({ endpointId, signalingUrl }) => [endpointId, signalingUrl]),
    ...{ developers, applications },
    devices: (await admin.devices.listDevices({ limit: 100 })).devices.map((device) => device.deviceId),
    callbacks: sink.count(watchedPath),
    'dead letters': lists.flat().filter(({ error }) => !forOperators.test(error)),
  };
}

/**
 * Waits until the watched application's transactions are published. They do not change while the headset is offline.
 */
export async function settled({ watched }: World): Promise<void> {
  await waitFor('the transactions to be published', async () => {
    const { transactions } = await expected(watched.api, 200, 'GET', '/transactions');
    return transactions.every((t: { transactionStatus: string }) => t.transactionStatus !== 'created');
  });
}

/** Connects the watched application's headset and verifies that all waiting transactions succeed. */
export async function stillWorks(world: World): Promise<void> {
  const { watched, stack, sink } = world;
  const [identity] = watched.devices;
  if (!identity) throw new Error('the watched application has no device');
  const headset = new Headset({
    identity,
    server: stack.deviceLinkUrl,
    stateDir: join(stack.dataDir, 'headset'),
  });
  try {
    headset.connect();
    const { transactions } = await expected(watched.api, 200, 'GET', '/transactions');
    for (const { transactionId } of transactions) {
      await waitFor(`the success of transaction ${transactionId}`, () =>
        sink.succeeded(watchedPath).has(transactionId),
      );
    }
  } finally {
    await headset.close();
  }
}

/** Calls the API every 100 ms during the cases. `stop` returns the durations; milliseconds. */
export function callBeside({ watched }: World): { wrong: string[]; stop(): Promise<number[]> } {
  const took: number[] = [];
  const wrong: string[] = [];
  let isOver = false;
  const running = (async () => {
    while (!isOver) {
      const started = performance.now();
      const answer = await watched.api.app('GET', '').catch((error: Error) => error.message);
      const ms = performance.now() - started;
      if (took.length < 1_000_000) took.push(ms);
      const status = typeof answer === 'string' ? answer : answer.status;
      if (status !== 200) wrong.push(`a valid call during the cases was answered with ${status}`);
      if (ms > longestMs / 2) wrong.push(`a valid call during the cases took ${Math.round(ms)} ms`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  return {
    wrong,
    async stop() {
      isOver = true;
      await running;
      return took.toSorted((a, b) => a - b);
    },
  };
}

/** Returns the memory of each process of the platform after a garbage collection. */
export async function held({
  stack,
  heldFolder,
}: World): Promise<Record<string, Held & { blockedMs: number }>> {
  const out: Record<string, Held & { blockedMs: number }> = {};
  for (const [name, managed] of Object.entries(stack.processes)) {
    if (!managed.running) throw new Error(`${name} has ended: ${await managed.exited}`);
    const file = join(heldFolder, `${managed.pid}.json`);
    rmSync(file, { force: true });
    managed.signal('SIGUSR2');
    await waitFor(`the memory of ${name}`, () => existsSync(file), { timeoutMs: 120_000 });
    out[name] = JSON.parse(readFileSync(file, 'utf8'));
  }
  return out;
}

/** Returns the names of files in the upload folders. */
export function storedFiles(dataDir: string): string[] {
  return readdirSync(dataDir, { recursive: true, encoding: 'utf8' })
    .filter((path) => /(?:^|\/)(?:partial|uploads|artifacts)\//.test(path))
    .toSorted();
}
