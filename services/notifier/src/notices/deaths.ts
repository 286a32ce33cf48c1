import { randomBytes } from 'node:crypto';
import type { Time } from '@headset-cloud/kit/clock.ts';
import type { Failpoints } from '@headset-cloud/kit/failpoints.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { type Repetition, repeat } from '@headset-cloud/kit/repeat.ts';
import { deathsNotice, tellsOthers } from '../domain/notice.ts';
import type { DeathStore, Telling } from '../ports.ts';
import type { Notices } from './notices.ts';

export interface DeathsOptions {
  readonly store: DeathStore;
  readonly notices: Pick<Notices, 'isRegistered' | 'store'>;
  readonly time: Time;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
  /** An application gets at most one notice in this time; milliseconds. */
  readonly everyMs: number;
}

const mostBetweenLooksMs = 15_000;
/** Deliveries of one notice at most; the next one tells of the others. */
const mostOfNotice = 5000;

/**
 * Tells applications of deliveries that were given up, at most once in a time, each delivery in one notice (ADR 0055).
 * Giving one up marks it, in the same write. A notice is decided by storing it with what it counts under the
 * application's number of notices; then it is stored as a delivery, the marks are removed, and the number goes on.
 * An instance decides when it has seen the same number for the whole time, so no clock matters.
 */
export class Deaths {
  readonly #o: DeathsOptions;
  /** When this instance first saw an application's number with callbacks to report. Times of the monotonic clock. */
  readonly #seen = new Map<string, { readonly number: number; readonly sinceMs: number }>();
  readonly #repetition: Repetition;

  constructor(options: DeathsOptions) {
    this.#o = options;
    const everyMs = Math.max(10, Math.min(mostBetweenLooksMs, options.everyMs / 4));
    this.#repetition = repeat('look at callbacks given up', everyMs, options.logger, () => this.look());
  }

  start(): void {
    this.#repetition.start();
  }

  stop(): Promise<void> {
    return this.#repetition.stop();
  }

  /** Decides notices that are due. Repeated after `start`; tests call it directly. */
  async look(): Promise<number> {
    const { store } = this.#o;
    const found = new Set<string>();
    const errors: unknown[] = [];
    for (let after = ''; ; ) {
      const applicationId = await store.next(after);
      if (applicationId === undefined) break;
      after = applicationId;
      found.add(applicationId);
      await this.#lookAt(applicationId).catch((error) => errors.push(error));
    }
    for (const applicationId of this.#seen.keys()) {
      if (!found.has(applicationId)) this.#seen.delete(applicationId);
    }
    if (errors.length > 0) throw errors[0];
    return 0;
  }

  async #lookAt(applicationId: string): Promise<void> {
    const { store, notices, time, failpoints, everyMs } = this.#o;
    // Before what is to be told is read: whoever tells it meanwhile has the number go on.
    const { number, telling } = await store.stateOf(applicationId);
    if (telling) return this.#settle(applicationId, number, telling);
    const seen = this.#seen.get(applicationId);
    if (seen?.number !== number) {
      this.#seen.set(applicationId, { number, sinceMs: time.monotonicNow() });
      return;
    }
    if (time.monotonicNow() - seen.sinceMs < everyMs) return;
    const deaths = await store.untold(applicationId, mostOfNotice);
    if (deaths.length === 0) return;
    const isSent = tellsOthers(deaths) && (await notices.isRegistered(applicationId));
    const occasion = randomBytes(12).toString('hex');
    const notice = deathsNotice({ applicationId, occasion, deaths, isSent, nowMs: time.now() });
    const fresh = { ids: deaths.map(({ id }) => id), notice };
    if (!(await store.tell(applicationId, number, fresh))) return;
    failpoints('notifier.owed');
    await this.#settle(applicationId, number, fresh);
  }

  /** Another instance may do the same at the same time. */
  async #settle(applicationId: string, number: number, { ids, notice }: Telling): Promise<void> {
    const { store, notices, failpoints } = this.#o;
    await notices.store([notice]);
    await store.unmark(ids);
    failpoints('notifier.unmarked');
    await store.settle(applicationId, number);
    failpoints('notifier.settled');
  }
}
