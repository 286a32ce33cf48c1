import { setTimeout as delay } from 'node:timers/promises';
import { statesOf } from '../../faults/headsets.ts';
import { headsetLoops } from '../../faults/load/headset-side.ts';
import { standingLoops } from '../../faults/load/loops.ts';
import { anyKind, operate } from '../../faults/load/operations.ts';
import { type LoadTarget, staying } from '../../faults/load/target.ts';
import { prepareUpdates, updateLoops } from '../../faults/load/updates.ts';
import { createRandom } from '../../faults/random.ts';
import type { Integrators } from './integrators.ts';

/** An operation starts every so often, whether earlier ones are answered or not: 2.9 calls/s. */
const paceMs = 350;
/** Longest pause of the other loops, which make two to three calls per second together. */
const pauseMs = 5000;
const sampleMs = 100;

/** A time in which a headset was not connected; milliseconds since 1970. */
export interface Absence {
  readonly deviceId: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Traffic {
  readonly absences: readonly Absence[];
  /** Starts no more calls; resolves when all open ones are answered. */
  end(): Promise<void>;
}

/** Calls of all kinds, reports and files of headsets, at a steady rate. */
export async function startTraffic(integrators: Integrators, seed: number): Promise<Traffic> {
  const { tenants, headsetsOf } = integrators;
  // Sora's side is left to the crash test: its webhooks would need an address that outlives pods.
  const targets = tenants.map((tenant) => ({ ...tenant, headsetsOf }) as unknown as LoadTarget);
  await Promise.all(targets.map(prepareUpdates));
  let running = true;
  const isRunning = () => running;
  const absences: Absence[] = [];
  const all = targets.flatMap((target, i) => {
    const random = (name: string) => createRandom(seed, `${i} ${name}`);
    return [
      ...standingLoops(target, pauseMs, random),
      ...headsetLoops(target, pauseMs / 4, random),
      ...updateLoops(target, pauseMs / 2, random, 0),
    ];
  });
  const ended = Promise.all([
    ...all.map((loop) => loop(isRunning)),
    steady(targets, seed, isRunning),
    watchHeadsets(integrators, absences, isRunning),
  ]);
  // `end` handles a failure; an early one must not end the process before.
  ended.catch(() => {});
  return {
    absences,
    async end() {
      running = false;
      await ended;
    },
  };
}

async function steady(targets: readonly LoadTarget[], seed: number, running: () => boolean): Promise<void> {
  const r = createRandom(seed, 'steady');
  const open = new Set<Promise<unknown>>();
  for (let nextMs = performance.now(); running(); ) {
    const { client, devices } = r.pick(targets);
    const call = operate(client, r.pick(staying(devices)), anyKind(r), r);
    open.add(call);
    call.finally(() => open.delete(call)).catch(() => {});
    nextMs += paceMs;
    await delay(Math.max(0, nextMs - performance.now()));
  }
  await Promise.all(open);
}

/** Notes when headsets lose their session and have one again. */
async function watchHeadsets(
  { headsets }: Integrators,
  absences: Absence[],
  running: () => boolean,
): Promise<void> {
  const since = new Map<string, number>();
  while (running()) {
    const states = await Promise.all(headsets.map(statesOf));
    const nowMs = Date.now();
    for (const { deviceId, sessionEpoch } of states.flatMap((some) => some ?? [])) {
      const fromMs = since.get(deviceId);
      if (sessionEpoch === 0) since.set(deviceId, fromMs ?? nowMs);
      else if (fromMs !== undefined) {
        absences.push({ deviceId, fromMs, toMs: nowMs });
        since.delete(deviceId);
      }
    }
    await delay(sampleMs);
  }
}
