import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Store, StoreCollection } from '@headset-cloud/store/types.ts';
import { keptProbes, type Probe } from '../domain/time-limit.ts';
import type { ProbeStore } from '../ports/probe-store.ts';
import { probesCollection } from './indexes.ts';

export interface ProbesDocument {
  /** The destination: application, a space and origin. */
  _id: string;
  recent: Probe[];
  /** Time after which no delivery can exist that counts these probes. */
  expireAt: Date;
}

/** Probes in MongoDB: one document per destination. */
export class MongoProbeStore implements ProbeStore {
  readonly #probes: StoreCollection<ProbesDocument>;
  readonly #keptMs: number;
  readonly #clock: Clock;

  constructor(store: Store, keptMs: number, clock: Clock) {
    this.#probes = store.collection<ProbesDocument>(probesCollection);
    this.#keptMs = keptMs;
    this.#clock = clock;
  }

  async note(destination: string, probe: Probe): Promise<void> {
    await this.#probes.updateOne(
      { _id: destination },
      {
        $push: { recent: { $each: [probe], $slice: -keptProbes } },
        $set: { expireAt: new Date(this.#clock.now() + this.#keptMs) },
      },
      { upsert: true },
    );
  }

  async recent(destination: string): Promise<readonly Probe[]> {
    return (await this.#probes.findOne({ _id: destination }))?.recent ?? [];
  }
}
