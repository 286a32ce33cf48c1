import type { Audit } from '@headset-cloud/kit/audit/outbox.ts';
import type { Clock } from '@headset-cloud/kit/clock.ts';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { type Repetition, repeat } from '@headset-cloud/kit/repeat.ts';
import {
  type DeliveryStatus,
  type DestinationSetting,
  destinationSettings,
  laneOf,
} from '../domain/delivery.ts';
import { fits, subjectOf } from '../domain/event.ts';
import type { FeedFilter } from '../domain/feed-cursor.ts';
import type { Recovery, RecoveryStore } from '../ports.ts';
import type { Scheduler } from '../scheduling/scheduler.ts';

/** What is to be sent again. */
export interface RecoveryRequest {
  readonly applicationId: string;
  readonly recoveryId: string;
  readonly sinceMs: number;
  readonly destination: DestinationSetting | undefined;
  /** Also what was delivered: its receiver has lost it. */
  readonly delivered: boolean;
  readonly filter: FeedFilter;
}

/** Looked at for each one that may be sent, before a filter counts as one that fits too rarely. */
const examinedPerSent = 3;
/** A batch is sent each time. */
const lookEveryMs = 1000;
/** Another instance goes on after this long without progress. */
const leaseMs = 10_000;

/**
 * Sends many deliveries again, at a pace. What they are is decided, and stored, when one begins; a process that dies
 * leaves the rest to any other. A delivery remembers the recovery that sent it, so that each sends it once at most.
 */
export class Recoveries {
  readonly #o: RecoveriesOptions;
  readonly #repetition: Repetition;
  #stopping = false;

  constructor(options: RecoveriesOptions) {
    this.#o = options;
    this.#repetition = repeat('recoveries of callbacks', lookEveryMs, options.logger, () => this.#step());
  }

  start(): void {
    this.#repetition.start();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#repetition.stop();
  }

  /** How many would be sent. Throws invalid_argument, with the number, where they are too many. */
  async count(request: Omit<RecoveryRequest, 'recoveryId'>): Promise<number> {
    return (await this.#idsOf(request)).length;
  }

  /** Throws conflict while another one of the application runs. The same id again answers the same recovery. */
  async recover(request: RecoveryRequest, isRepeat = false): Promise<Recovery> {
    const { store, clock, audit } = this.#o;
    const { recoveryId, applicationId } = request;
    const known = await store.get(recoveryId);
    if (known) return known;
    const ids = await this.#idsOf(request);
    const subject = { target: recoveryId, fields: ['status'], applicationId };
    const nowMs = clock.now();
    const isMine = await audit.change(subject, (record) =>
      store.begin({ recoveryId, applicationId, ids, delivered: request.delivered, nowMs }, record),
    );
    const begun = await store.get(recoveryId);
    if (!isMine && !begun) {
      const other = await store.runningOf(applicationId);
      // The other one has just ended, or its process died before it was stored.
      if (!other && !isRepeat) return this.recover(request, true);
      if (!other) throw new DomainError('unavailable', 'Another recovery was running until now. Try again.');
      throw new DomainError('conflict', `Another recovery runs: ${other.recoveryId}.`);
    }
    this.#repetition.wake();
    if (!begun) throw new Error(`recovery ${recoveryId} is begun and cannot be read`);
    return begun;
  }

  /** Throws not_found for one of another application as well. */
  async get(applicationId: string, recoveryId: string): Promise<Recovery> {
    const found = await this.#o.store.get(recoveryId);
    if (found?.applicationId !== applicationId) {
      throw new DomainError('not_found', 'The recovery was not found.');
    }
    return found;
  }

  async #idsOf({
    applicationId,
    sinceMs,
    destination,
    delivered,
    filter,
  }: Omit<RecoveryRequest, 'recoveryId'>): Promise<string[]> {
    const { store, most } = this.#o;
    const statuses = statusesOf(delivered);
    const ids: string[] = [];
    let [count, examined] = [0, 0];
    for await (const delivery of store.ended({ applicationId, destination, statuses, sinceMs })) {
      examined++;
      if (examined > most * examinedPerSent) throw tooMany(`more than ${examined - 1} were looked at`, most);
      if (!fits(subjectOf(delivery), filter)) continue;
      count++;
      if (count <= most) ids.push(delivery.id);
    }
    if (count > most) throw tooMany(`${count} fit`, most);
    return ids;
  }

  /** Goes on with one recovery for a batch; answers how many it has done. */
  async #step(): Promise<number> {
    const { store, clock, scheduler, perSecond } = this.#o;
    if (this.#stopping) return 0;
    const nowMs = clock.now();
    const recovery = await store.claim(nowMs, nowMs + leaseMs);
    if (!recovery) return 0;
    const { recoveryId, applicationId, next, ids, delivered } = recovery;
    const batch = ids.slice(next, next + Math.max(1, Math.round((perSecond * lookEveryMs) / 1000)));
    if (batch.length === 0) {
      await store.end(recovery, clock.now());
      return 1;
    }
    await store.sendAgain(recoveryId, batch, statusesOf(delivered), clock.now());
    // What is done twice, because a process died in between, is sent once: the delivery knows who sent it.
    await store.progress(recoveryId, next, next + batch.length, clock.now() + lookEveryMs / 2);
    for (const setting of destinationSettings) scheduler.foundWork(laneOf(applicationId, setting));
    // Others may be due as well.
    return 1;
  }
}

export interface RecoveriesOptions {
  readonly store: RecoveryStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly audit: Audit;
  readonly scheduler: Pick<Scheduler, 'foundWork'>;
  /** Most deliveries of one recovery. */
  readonly most: number;
  /** Deliveries that one recovery sends in a second. */
  readonly perSecond: number;
}

function statusesOf(delivered: boolean): DeliveryStatus[] {
  return delivered ? ['dead', 'delivered'] : ['dead'];
}

function tooMany(what: string, most: number): DomainError {
  return new DomainError(
    'invalid_argument',
    `A recovery sends at most ${most} deliveries, and ${what}: choose a later since, or filters.`,
  );
}
