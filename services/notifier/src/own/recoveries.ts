import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { type Repetition, repeat } from '@headset-cloud/runtime/repeat.ts';
import {
  type DeliveryStatus,
  type DestinationSetting,
  destinationSettings,
  laneOf,
} from '../domain/delivery.ts';
import { fits, subjectOf } from '../domain/event.ts';
import type { FeedFilter } from '../domain/feed-cursor.ts';
import type { Recovery, RecoveryStore } from '../ports/recovery-store.ts';
import type { Scheduler } from '../scheduling/scheduler.ts';

/** Filter of the deliveries to send again. */
export interface RecoveryRequest {
  readonly applicationId: string;
  readonly recoveryId: string;
  readonly sinceMs: number;
  readonly destination: DestinationSetting | undefined;
  /** True to include delivered callbacks, because the receiver has lost them. */
  readonly delivered: boolean;
  readonly filter: FeedFilter;
}

/** Maximum deliveries that are read per delivery that is sent, before a filter counts as too narrow. */
const examinedPerSent = 3;
/** Interval between two batches; milliseconds. */
const intervalMs = 1000;
/** Time without progress after which another instance continues; milliseconds. */
const leaseMs = 10_000;

/**
 * Sends many deliveries again at a limited rate. The list is decided and stored at the start. If a process dies, any
 * other process continues. A delivery remembers the recovery that sent it, so each recovery sends it at most once.
 */
export class Recoveries {
  readonly #o: RecoveriesOptions;
  readonly #repetition: Repetition;
  #stopping = false;

  constructor(options: RecoveriesOptions) {
    this.#o = options;
    this.#repetition = repeat('recoveries of callbacks', intervalMs, options.logger, () => this.#step());
  }

  start(): void {
    this.#repetition.start();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#repetition.stop();
  }

  /** Number of deliveries that would be sent. Throws invalid_argument with the number if there are too many. */
  async count(request: Omit<RecoveryRequest, 'recoveryId'>): Promise<number> {
    return (await this.#idsOf(request)).length;
  }

  /** Throws conflict while another recovery of the application runs. A repeated id returns the same recovery. */
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
      // The other recovery has just ended, or it is not stored yet. If its process died before it was stored, the
      // application stays locked for up to a minute.
      if (!other && !isRepeat) return this.recover(request, true);
      if (!other) {
        throw new DomainError(
          'unavailable',
          'Another recovery is starting or has just ended. Try again for up to one minute.',
        );
      }
      throw new DomainError('conflict', `Another recovery is running: ${other.recoveryId}.`);
    }
    this.#repetition.wake();
    if (!begun) throw new Error(`recovery ${recoveryId} was started and cannot be read`);
    return begun;
  }

  /** Throws not_found also for a recovery of another application. */
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
      if (examined > most * examinedPerSent) throw tooManyToRead(most * examinedPerSent);
      if (!fits(subjectOf(delivery), filter)) continue;
      count++;
      if (count <= most) ids.push(delivery.id);
    }
    if (count > most) throw tooMany(count, most);
    return ids;
  }

  /** Continues one recovery with a batch. Returns the number of handled recoveries. */
  async #step(): Promise<number> {
    const { store, clock, scheduler, perSecond } = this.#o;
    if (this.#stopping) return 0;
    const nowMs = clock.now();
    const recovery = await store.claim(nowMs, nowMs + leaseMs);
    if (!recovery) return 0;
    const { recoveryId, applicationId, next, ids, delivered } = recovery;
    const batch = ids.slice(next, next + Math.max(1, Math.round((perSecond * intervalMs) / 1000)));
    if (batch.length === 0) {
      await store.end(recovery, clock.now());
      return 1;
    }
    await store.sendAgain(recoveryId, batch, statusesOf(delivered), clock.now());
    // A batch that is repeated after a crash is sent once, because the delivery remembers the recovery.
    // Counted from the claim, so that the next run of this instance finds it due.
    await store.progress(recoveryId, next, next + batch.length, nowMs + intervalMs);
    for (const setting of destinationSettings) scheduler.foundWork(laneOf(applicationId, setting));
    // Not 0, so that a next recovery that is due is continued at once.
    return 1;
  }
}

export interface RecoveriesOptions {
  readonly store: RecoveryStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly audit: Audit;
  readonly scheduler: Pick<Scheduler, 'foundWork'>;
  /** Maximum deliveries of one recovery. */
  readonly most: number;
  /** Deliveries that one recovery sends per second. */
  readonly perSecond: number;
}

function statusesOf(delivered: boolean): DeliveryStatus[] {
  return delivered ? ['dead', 'delivered'] : ['dead'];
}

function tooMany(count: number, most: number): DomainError {
  return new DomainError(
    'invalid_argument',
    `${count} deliveries match, but a recovery sends at most ${most}. Choose a later since or more filters.`,
  );
}

/** The time and the destination limit the search. The other filters are applied to its results. */
function tooManyToRead(most: number): DomainError {
  return new DomainError(
    'invalid_argument',
    `A recovery searches at most ${most} ended deliveries, and there are more. Choose a later since or a destination.`,
  );
}
