import { type LogEvent, partitionAndOffset } from '@headset-cloud/eventlog/types.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { Filter, Update } from '@headset-cloud/store/operations.ts';
import type { Store, StoreCollection } from '@headset-cloud/store/types.ts';
import { type PendingAuditRecord, withAuditRecord } from '../audit/record.ts';
import { type DeadLetterDocument, deadLetterId, deadLettersCollection } from './documents.ts';

/** How long the claim of a replay lasts; longer than any handler takes; milliseconds. */
const claimMs = 60_000;
/**
 * Maximum remaining time of a claim; a claim with more counts as expired. Its writer's clock was ahead, or this clock
 * was set back. The maximum is several times `claimMs`, so that processes whose clocks differ by less than four minutes
 * accept each other's claims.
 */
const maxClaimMs = 5 * claimMs;
const maxSteps = 20;

/** An operator's request: its reason and its audit record. */
export interface OperatorRequest {
  readonly reason: string;
  readonly record: PendingAuditRecord;
}

/** The dead letters of a service's consumer groups. Each change is one conditional update. */
export class DeadLetterStore {
  readonly #deadLetters: StoreCollection<DeadLetterDocument>;
  readonly #clock: Clock;
  readonly #keepMs: number;

  /** `keepMs`: retention period of a dead letter while it waits for an operator, and again after its end. */
  constructor(store: Store, clock: Clock, keepMs: number) {
    this.#deadLetters = store.collection<DeadLetterDocument>(deadLettersCollection);
    this.#clock = clock;
    this.#keepMs = keepMs;
  }

  /** Stores an event. If an earlier try has stored it, its document stays unchanged. */
  async add(event: LogEvent, group: string, error: string): Promise<void> {
    const now = this.#clock.now();
    try {
      await this.#deadLetters.insertOne({
        _id: deadLetterId(event, group),
        topic: event.topic,
        group,
        key: event.key,
        ...partitionAndOffset(event),
        value: Buffer.from(event.value),
        headers: JSON.stringify(event.headers),
        publishedAtMs: event.timestampMs,
        kind: 'poison',
        state: 'waiting',
        open: true,
        blocking: false,
        error,
        reason: '',
        setAsideAtMs: now,
        claim: '',
        claimedUntilMs: 0,
        steps: [{ atMs: now, what: `set aside: ${error}` }],
        expiresAt: new Date(now + this.#keepMs),
      });
    } catch (cause) {
      if (!isDuplicateKey(cause)) throw cause;
    }
  }

  /** Ids of dead letters whose replay was requested by an operator, but not completed, because its process died. */
  async abandoned(group: string, topic: string): Promise<string[]> {
    const left = await this.#deadLetters
      .find(
        { group, topic, state: 'replaying', ...unclaimed(this.#clock.now()) },
        { projection: { _id: 1 }, limit: 100 },
      )
      .toArray();
    return left.map((deadLetter) => deadLetter._id);
  }

  get(id: string): Promise<DeadLetterDocument | null> {
    return this.#deadLetters.findOne({ _id: id });
  }

  /** The newest dead letters, newest first. */
  newest(limit: number, ended: boolean): Promise<DeadLetterDocument[]> {
    return this.#deadLetters
      .find(ended ? {} : { open: true }, { sort: { setAsideAtMs: -1 }, limit })
      .toArray();
  }

  countOpen(): Promise<number> {
    return this.#deadLetters.countDocuments({ open: true });
  }

  /**
   * Claims a dead letter for a replay; null if it has ended or another replay has claimed it. With `request` (an
   * operator's request), stores the audit record and stops the expiry until the replay ends.
   */
  claim(id: string, claim: string, request?: OperatorRequest): Promise<DeadLetterDocument | null> {
    const now = this.#clock.now();
    const free = { _id: id, open: true, ...unclaimed(now) };
    const claimed = { claim, claimedUntilMs: now + claimMs };
    if (!request) return this.#update(free, { $set: claimed });
    const { reason, record } = request;
    const replaying: Update<DeadLetterDocument> = {
      $set: { ...claimed, state: 'replaying', reason },
      $unset: { expiresAt: '' },
    };
    return this.#update(free, withAuditRecord(replaying, record));
  }

  /** Releases the claim and restores the state before the claim, with a full retention period. */
  async release(id: string, claim: string, error: string): Promise<void> {
    const expiresAt = new Date(this.#clock.now() + this.#keepMs);
    const waiting = { claim: '', claimedUntilMs: 0, state: 'waiting', error, expiresAt } as const;
    await this.#update({ _id: id, claim }, { $set: waiting });
  }

  /** Stores that a replay has failed permanently. */
  async failed(id: string, claim: string, error: string): Promise<void> {
    const now = this.#clock.now();
    await this.#update(
      { _id: id, claim },
      {
        $set: {
          ...{ claim: '', claimedUntilMs: 0, state: 'waiting', kind: 'poison', blocking: false, error },
          expiresAt: new Date(now + this.#keepMs),
        },
        ...step(now, `failed again: ${error}`),
      },
    );
  }

  /**
   * Ends a dead letter after its replay took effect. Null if the claim has expired and another replay has claimed the
   * dead letter.
   */
  replayed(id: string, claim: string, what: string): Promise<DeadLetterDocument | null> {
    return this.#end({ _id: id, claim, open: true }, 'replayed', {}, what);
  }

  /** Discards a dead letter; null if it has ended or a replay has claimed it. */
  discard(id: string, { reason, record }: OperatorRequest): Promise<DeadLetterDocument | null> {
    const free = { _id: id, open: true, ...unclaimed(this.#clock.now()) };
    return this.#end(free, 'discarded', { reason }, `discarded: ${reason}`, record);
  }

  #end(
    filter: Filter<DeadLetterDocument>,
    state: DeadLetterDocument['state'],
    more: Partial<DeadLetterDocument>,
    what: string,
    record?: PendingAuditRecord,
  ): Promise<DeadLetterDocument | null> {
    const now = this.#clock.now();
    const end: Update<DeadLetterDocument> = {
      $set: {
        ...more,
        ...{ state, open: false, blocking: false, claim: '', claimedUntilMs: 0 },
        expiresAt: new Date(now + this.#keepMs),
      },
      ...step(now, what),
    };
    return this.#update(filter, record ? withAuditRecord(end, record) : end);
  }

  #update(
    filter: Filter<DeadLetterDocument>,
    update: Update<DeadLetterDocument>,
  ): Promise<DeadLetterDocument | null> {
    return this.#deadLetters.findOneAndUpdate(filter, update, { returnDocument: 'after' });
  }
}

/** Part of a filter: no replay holds the dead letter. */
export function unclaimed(now: number): Filter<DeadLetterDocument> {
  return { $or: [{ claimedUntilMs: { $lte: now } }, { claimedUntilMs: { $gt: now + maxClaimMs } }] };
}

function step(atMs: number, what: string): Update<DeadLetterDocument> {
  return { $push: { steps: { $each: [{ atMs, what }], $slice: -maxSteps } } };
}
