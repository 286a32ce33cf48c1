import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import { Counter, type Registry } from 'prom-client';

/** Displacements of one device within this time are counted together; milliseconds. */
const windowMs = 3_600_000;
/**
 * Number of displaced sessions of a device within `windowMs` that indicates two headsets with one identity. Two such
 * headsets displace each other every 30 s, so that even each of a dozen instances counts this number.
 */
const sharedIdentityCount = 10;
/** Maximum number of devices in memory. Beyond the limit, the device with the oldest displacement is removed. */
const maxDevices = 10_000;

/** Probable cause of a displacement: the headset reconnected, or two headsets use one identity. */
export type Displacement = 'reconnect' | 'shared_identity';

export interface DisplacementsDeps {
  readonly clock: Clock;
  readonly count: (why: Displacement) => void;
  /** Called for a device whose identity two headsets probably use; at most once an hour. */
  readonly onShared: (deviceId: string) => void;
}

interface Known {
  /** Times of the newest displacements, oldest first, by the monotonic clock. */
  readonly atMs: number[];
  /** When `onShared` was last called for the device, by the monotonic clock. */
  sharedAtMs: number;
}

/**
 * Counts the sessions that newer sessions of the same device displaced, as far as this instance registered the newer
 * ones.
 */
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
    if (this.#known.size > maxDevices) this.#forgetOldest();
    known.atMs.push(nowMs);
    if (known.atMs.length > sharedIdentityCount) known.atMs.shift();
    const isShared = known.atMs.length === sharedIdentityCount && nowMs - (known.atMs[0] ?? nowMs) < windowMs;
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
