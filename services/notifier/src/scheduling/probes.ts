import type { Time } from '@headset-cloud/kit/clock.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import type { Delivery } from '../domain/delivery.ts';
import { keptProbes, type Probe, probesFor } from '../domain/time-limit.ts';
import type { ProbeStore } from '../ports.ts';

/** The database is asked at most so often what other instances probed. */
const refreshMs = 60_000;

/**
 * The newest probes of one failing destination: they count as attempts of all that waits behind it
 * (rule B10). One small write a probe; one that is lost only makes another attempt.
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

  /** A probe with this delivery has failed. */
  note(id: string): void {
    const { store, time, logger } = this.#o;
    const probe = { atMs: time.now(), id };
    this.#recent = [...this.#recent, probe].slice(-keptProbes);
    store
      .note(this.#destination, probe)
      .catch((error) => logger.warn({ err: error }, 'a probe of a failing destination is not stored'));
  }

  /** The newest, oldest first, as far as is known here. */
  get recent(): readonly Probe[] {
    return this.#recent;
  }

  /** Those that count for a delivery beside its own attempts, as far as is known here. */
  countFor(delivery: Delivery): number {
    return probesFor(this.#recent, delivery);
  }

  /** Learns what others probed; undefined when that was done lately. */
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
