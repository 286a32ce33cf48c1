import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import { Counter, type Registry } from 'prom-client';

/** Displacements of one device within this time are counted together; milliseconds. */
const windowMs = 3_600_000;
/**
 * Displaced sessions within an hour from which two headsets probably use one identity: a copy displaces the other
 * headset's session every 30 s, also if a dozen instances share them.
 */
const suspicious = 10;
/** Maximum number of devices in memory; the device whose session was displaced longest ago is removed. */
const mostDevices = 10_000;

/** How a newer session of a device displaced an open one. */
export type Displacement = 'reconnect' | 'shared_identity';

export interface DisplacementsDeps {
  readonly clock: Clock;
  readonly count: (why: Displacement) => void;
  /** Called once in an hour for a device whose identity is probably used by two headsets. */
  readonly onShared: (deviceId: string) => void;
}

interface Known {
  /** The newest ones, oldest first, by the monotonic clock. */
  readonly atMs: number[];
  sharedAtMs: number;
}

/** Open sessions that newer ones displaced on this instance. */
export class Displacements {
  readonly #deps: DisplacementsDeps;
  readonly #known = new Map<string, Known>();

  constructor(deps: DisplacementsDeps) {
    this.#deps = deps;
  }

  /** Counts a displacement. Returns whether two headsets probably use the device's identity. */
  add(deviceId: string): boolean {
    const nowMs = monotonicMs(this.#deps.clock);
    const known = this.#known.get(deviceId) ?? { atMs: [], sharedAtMs: Number.NEGATIVE_INFINITY };
    this.#known.delete(deviceId);
    this.#known.set(deviceId, known);
    if (this.#known.size > mostDevices) this.#forgetOldest();
    known.atMs.push(nowMs);
    if (known.atMs.length > suspicious) known.atMs.shift();
    const isShared = known.atMs.length === suspicious && nowMs - (known.atMs[0] ?? nowMs) < windowMs;
    this.#deps.count(isShared ? 'shared_identity' : 'reconnect');
    if (isShared && nowMs - known.sharedAtMs >= windowMs) {
      known.sharedAtMs = nowMs;
      this.#deps.onShared(deviceId);
    }
    return isShared;
  }

  #forgetOldest(): void {
    for (const deviceId of this.#known.keys()) {
      this.#known.delete(deviceId);
      return;
    }
  }
}

/** Registers headset_sessions_displaced_total. */
export function createDisplacementCounter(registry: Registry): (why: Displacement) => void {
  const counter = new Counter({
    name: 'headset_sessions_displaced_total',
    help: 'Open sessions of headsets that ended because a newer session of the same device began: reconnect (the cloud had not noticed the end of the connection), shared_identity (the tenth within an hour or later: two headsets probably use one identity).',
    labelNames: ['reason'],
    registers: [registry],
  });
  // A rate needs a value before the first displacement.
  for (const reason of ['reconnect', 'shared_identity'] as const) counter.inc({ reason }, 0);
  return (reason) => counter.inc({ reason });
}
