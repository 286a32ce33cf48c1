import { setTimeout as pause } from 'node:timers/promises';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { request } from 'undici';
import type { Report } from '../lib/figures.ts';
import { processFigures } from '../lib/process-figures.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker } from '../lib/worker.ts';
import { startWorld, type World } from '../lib/world.ts';
import type { Load } from '../load/main.ts';

const devices = 10_000;
const sampleMs = 5;
/** Number of readings before the measured one, so that the heaps have their final size. */
const warmUps = 5;

/**
 * Memory for the list of all statuses: 10,000 devices, streamed. For each process that produces it:
 * the maximum of resident memory during the read, minus the memory before.
 */
export async function measureStatusList(kind: StackKind, settings: Settings): Promise<Report> {
  const world = await startWorld(kind, settings);
  const load = startWorker<Load>('load/main.ts');
  try {
    const keys = await world.devices(devices);
    await load.call('addKey', await world.callbacksTo(await load.call('receiver', undefined as never)));
    await world.activate(keys);
    const { processes } = world.stack;
    const makers = [processes['platform'], processes['gateway'], processes['devices']].filter(
      (p) => p !== undefined,
    );
    for (let i = 0; i < warmUps; i++) await read(world);
    const grown = makers.map(() => 0);
    await pause(2000);
    const before = makers.map((p) => processFigures(p.pid).rssBytes);
    let reading = true;
    const sampling = (async () => {
      while (reading) {
        for (const [i, p] of makers.entries()) {
          const growth = processFigures(p.pid).rssBytes - (before[i] ?? 0);
          grown[i] = Math.max(grown[i] ?? 0, growth);
        }
        await pause(sampleMs);
      }
    })();
    const begun = performance.now();
    const { bytes, count } = await read(world);
    const ms = performance.now() - begun;
    reading = false;
    await sampling;
    if (count !== devices) throw new Error(`the list has ${count} devices instead of ${devices}`);
    return {
      figures: makers.map((p, i) => ({
        measure: `status list, memory of ${p.name}`,
        unit: 'MiB',
        ours: (grown[i] ?? 0) / 2 ** 20,
        baseline: undefined,
        goal: { atMost: 16 },
      })),
      notes: [`status list: ${devices} devices, ${(bytes / 2 ** 20).toFixed(1)} MiB in ${ms.toFixed(0)} ms.`],
    };
  } finally {
    await load.stop();
    await world.close();
  }
}

/** Reads the list as a stream and stores nothing of it. */
async function read(world: World): Promise<{ bytes: number; count: number }> {
  const answer = await request(
    `${world.stack.apiUrl}/v1/applications/${world.applicationId}/devices/status`,
    { headers: { authorization: `Bearer ${await world.api.token()}` } },
  );
  if (answer.statusCode !== 200) throw new Error(`the list answers ${answer.statusCode}`);
  let bytes = 0;
  let count = 0;
  let tail = '';
  for await (const piece of answer.body as AsyncIterable<Buffer>) {
    bytes += piece.length;
    const text = tail + piece.toString('latin1');
    count += text.split('"deviceId"').length - 1;
    // A name that is split between two chunks is found with the next chunk.
    tail = text.slice(text.lastIndexOf('"deviceId"') + 10).slice(-9);
  }
  return { bytes, count };
}
