import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import type { SessionDirectory } from '../ports.ts';
import type { SessionHub } from '../presence/hub.ts';

/** Time within which a write whose response was lost becomes visible; after this time it never does; milliseconds. */
const uncertainMs = 60_000;

export interface RegistrationsDeps {
  readonly directory: SessionDirectory;
  readonly hub: Pick<SessionHub, 'knows'>;
  readonly clock: Clock;
}

/**
 * Runs registrations, and releases sessions that failed registrations may have left in the directory: if only the
 * response to a registration was lost, the directory contains a session of this instance that does not exist.
 */
export class Registrations {
  readonly #deps: RegistrationsDeps;
  /** Number of registrations that the hub does not know yet, by device. */
  readonly #open = new Map<string, number>();
  /** Devices with a failed registration, and the time until which its write may become visible. */
  readonly #uncertainUntilMs = new Map<string, number>();

  constructor(deps: RegistrationsDeps) {
    this.#deps = deps;
  }

  /**
   * Runs a registration of the device. `register` calls `known` when the hub knows the session. Throws the errors of
   * `register`.
   */
  async run(deviceId: string, register: (known: () => void) => Promise<void>): Promise<void> {
    const known = this.#begin(deviceId);
    try {
      await register(known);
    } catch (error) {
      this.#uncertainUntilMs.set(deviceId, monotonicMs(this.#deps.clock) + uncertainMs);
      throw error;
    } finally {
      known();
    }
  }

  /** Releases the sessions of failed registrations; called after each renewal of the lease. */
  async releaseUncertain(): Promise<void> {
    const { directory, hub, clock } = this.#deps;
    if (this.#uncertainUntilMs.size === 0) return;
    const readAtMs = monotonicMs(clock);
    const holders = await directory.holders([...this.#uncertainUntilMs.keys()]);
    const unused = [...holders].filter(
      ([deviceId, holder]) =>
        holder.instanceId === directory.instanceId &&
        !this.#open.has(deviceId) &&
        !hub.knows(deviceId, holder.epoch),
    );
    await directory.release(
      unused.map(([deviceId, { epoch }]) => ({ deviceId, epoch, ackedReportId: 0, unresponsive: false })),
    );
    for (const [deviceId, untilMs] of this.#uncertainUntilMs) {
      if (untilMs < readAtMs && !this.#open.has(deviceId)) this.#uncertainUntilMs.delete(deviceId);
    }
  }

  /** Counts an open registration of the device until the returned function is called. */
  #begin(deviceId: string): () => void {
    this.#open.set(deviceId, (this.#open.get(deviceId) ?? 0) + 1);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const remaining = (this.#open.get(deviceId) ?? 0) - 1;
      if (remaining > 0) this.#open.set(deviceId, remaining);
      else this.#open.delete(deviceId);
    };
  }
}
