import { setTimeout as pause } from 'node:timers/promises';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import type { Report } from '../lib/figures.ts';
import type { Settings } from '../lib/settings.ts';
import { sessionsOf, startWorld } from '../lib/world.ts';

const headsets = 10_000;
/** Number of headsets that connect at once, each time in a separate process. */
const each = 1000;
/** Number of keys that are removed, one after the other. */
const removals = 20;
const goalSeconds = 5;
const pollMs = 20;

/**
 * Time that a session outlives its headset's key on one instance with 10,000 sessions (ADR 0038): from the
 * answer to the operator's call until device-link's gauge of sessions has fallen.
 */
export async function measureRevoke(kind: StackKind, settings: Settings): Promise<Report> {
  const world = await startWorld(kind, settings);
  try {
    const devices = await world.devices(headsets);
    for (let from = 0; from < headsets; from += each)
      await world.headsets(devices.slice(from, from + each), from);
    const took: number[] = [];
    for (let n = 0; n < removals; n++) {
      // Spread over all sessions, which are checked in rotation.
      const { deviceId, keyId } = devices[n * (headsets / removals)] as (typeof devices)[number];
      const left = (await sessionsOf(world.stack)) - 1;
      await world.admin.devices.removeHeadsetKey({ deviceId, keyId });
      const begunMs = performance.now();
      while ((await sessionsOf(world.stack)) > left) {
        if (performance.now() - begunMs > 60_000) throw new Error('a session outlived its key by 60 s');
        await pause(pollMs);
      }
      took.push((performance.now() - begunMs) / 1000);
      // Each removal happens at another moment of the check's interval.
      await pause(n * 100);
    }
    took.sort((a, b) => a - b);
    const longest = took.at(-1) as number;
    return {
      figures: [
        {
          measure: 'removed key to ended session, longest',
          unit: 's',
          ours: longest,
          baseline: undefined,
          goal: { atMost: goalSeconds },
        },
      ],
      notes: [
        `revoke: ${removals} keys were removed beside ${headsets} sessions of one instance; median ${(took[removals / 2] as number).toFixed(2)} s.`,
      ],
    };
  } finally {
    await world.close();
  }
}
