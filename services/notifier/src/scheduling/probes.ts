import type { Time } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Delivery } from '../domain/delivery.ts';
import { keptProbes, type Probe, probesFor } from '../domain/time-limit.ts';
import type { ProbeStore } from '../ports/probe-store.ts';

/** Minimum time between two reads of other instances' probes; milliseconds. */
const refreshMs = 60_000;

/**
 * The newest probes of one failing destination. They count as attempts of all deliveries that wait for it (rule B10).
 * Each probe is one small write. A lost write only causes another attempt.
 */
export class Probes {
  readonly #destination: string;
  readonly #o: { store: ProbeStore; time: Time; logger: Logger };
  #recent: readonly Probe[] = [];
  #refreshedAt = Number.NEGATIVE_INFINITY;

  constructor(destination: string, options: { store: ProbeStore; time: Time; logger: Logger }) {
    this.#destination = destination;
    this.#o = options;
  }

  /** Records a failed probe with this delivery. */
  note(id: string): void {
    const { store, time, logger } = this.#o;
    const probe = { atMs: time.now(), id };
    this.#recent = [...this.#recent, probe].slice(-keptProbes);
    store
      .note(this.#destination, probe)
      .catch((error) => logger.warn({ err: error }, 'probe of a failing destination not stored'));
  }

  /** The newest probes that are known here, oldest first. */
  get recent(): readonly Probe[] {
    return this.#recent;
  }

  /** Number of probes that count for a delivery in addition to its own attempts, as far as known here. */
  countFor(delivery: Delivery): number {
    return probesFor(this.#recent, delivery);
  }

  /** Reads probes of other instances; undefined if they were read recently. */
  refresh(): Promise<void> | undefined {
    const { store, time, logger } = this.#o;
    const nowMs = time.monotonicNow();
    if (nowMs - this.#refreshedAt < refreshMs) return undefined;
    this.#refreshedAt = nowMs;
    return store.recent(this.#destination).then(
      (stored) => {
        const known = new Map([...stored, ...this.#recent].map((p) => [`${p.atMs} ${p.id}`, p]));
        this.#recent = [...known.values()].sort((a, b) => a.atMs - b.atMs).slice(-keptProbes);
      },
      (error) => logger.warn({ err: error }, 'probes of a failing destination not read'),
    );
  }
}
