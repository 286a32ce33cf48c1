import { freePort } from '@headset-cloud/demo/stack/ports.ts';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { median, type Report } from '../lib/figures.ts';
import { spendingOf } from '../lib/processor-time.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker } from '../lib/worker.ts';
import { startWorld } from '../lib/world.ts';
import { openLoop } from '../load/arrivals.ts';
import type { Load } from '../load/main.ts';

const headsets = 200;
/** Low, as for a fleet on a working day, and high. */
const rates = [10, 100];

/**
 * Cost of headsets' own reports: a headset is put on or taken off; from its report until the verified callback. There is
 * no baseline; docs/sizing.md calculates with the figures.
 */
export async function measureReports(kind: StackKind, settings: Settings): Promise<Report> {
  const world = await startWorld(kind, settings);
  const load = startWorker<Load>('load/main.ts');
  try {
    const keys = await world.devices(headsets);
    await load.call('addKey', await world.callbacksTo(await load.call('receiver', undefined)));
    const activations = await world.activate(keys);
    const controlPort = await freePort();
    await world.headsets(keys, 0, { controlPort });
    await load.call('ended', { transactionIds: activations });
    let reported = 0;
    const report = async (i: number) => {
      // Each headset alternates between the two reports.
      const wearing = Math.floor(i / headsets) % 2 === 0 ? 'device_wear' : 'device_takeoff';
      const deviceId = keys[i % headsets]?.deviceId;
      const response = await fetch(`http://127.0.0.1:${controlPort}/actions`, {
        method: 'POST',
        body: JSON.stringify({ action: 'report', deviceId, stateChange: { wearing } }),
      });
      if (!response.ok) throw new Error(`report: ${response.status} ${await response.text()}`);
      await response.arrayBuffer();
    };
    const run = async (perSecond: number): Promise<number> => {
      const before = await load.call('reports', undefined);
      const from = reported;
      const { length } = await openLoop(perSecond, settings.seconds, (i) => report(from + i));
      reported += length;
      await waitFor(
        'the callback of each report',
        async () => (await load.call('reports', undefined)) >= before + length,
        { timeoutMs: 20_000, intervalMs: 20 },
      );
      return length;
    };
    await run(rates.at(-1) as number);
    const figures = [];
    const notes = [];
    for (const rate of rates) {
      const spent = spendingOf(world.stack);
      for (let turn = 0; turn < settings.runs; turn++)
        await spent.during(
          () => run(rate),
          (count) => count,
        );
      const measure = `reports, ${rate} arrivals/s, processor time of a report`;
      figures.push({ measure, unit: 'ms', ours: median(spent.each), baseline: undefined, goal: undefined });
      notes.push(`${measure}: ${spent.inWords()}`);
    }
    return { figures, notes };
  } finally {
    await load.stop();
    await world.close();
  }
}
