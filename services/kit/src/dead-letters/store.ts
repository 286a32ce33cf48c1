import { type OwedRecord, owing } from '../audit/record.ts';
import type { Clock } from '../clock.ts';
import { isDuplicateKey } from '../errors.ts';
import { type LogEvent, partitionAndOffset } from '../eventlog/types.ts';
import type { Filter, Update } from '../store/operations.ts';
import type { Store, StoreCollection } from '../store/types.ts';
import { type LetterDocument, letterId, lettersCollection } from './documents.ts';

/** How long a replay's claim on an event lasts; longer than any handler takes. */
const claimMs = 60_000;
/**
 * How far ahead a claim may end. One that ends later comes from a clock that was ahead, or from before a
 * step back. Several times what a right clock writes: members whose clocks differ by less than four minutes
 * leave each other's claims alone.
 */
const farthestMs = 5 * claimMs;
const maxSteps = 20;

/** What an operator asks for: with the reason, and the audit record that it owes. */
export interface Asked {
  readonly reason: string;
  readonly record: OwedRecord;
}

/** The events that a service's groups have set aside. Each change is one conditional update. */
export class LetterStore {
  readonly #letters: StoreCollection<LetterDocument>;
  readonly #clock: Clock;
  readonly #keepMs: number;

  /** `keepMs`: how long a dead letter is kept after it was ended, or while it waits for an operator. */
  constructor(store: Store, clock: Clock, keepMs: number) {
    this.#letters = store.collection<LetterDocument>(lettersCollection);
    this.#clock = clock;
    this.#keepMs = keepMs;
  }

  /** Stores an event; a document that exists from an earlier try stays unchanged. */
  async setAside(event: LogEvent, group: string, error: string): Promise<void> {
    const now = this.#clock.now();
    try {
      await this.#letters.insertOne({
        _id: letterId(event, group),
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

  /** Replays that an operator asked for and whose process has died since. */
  async abandoned(group: string, topic: string): Promise<string[]> {
    const left = await this.#letters
      .find(
        { group, topic, state: 'replaying', ...unclaimed(this.#clock.now()) },
        { projection: { _id: 1 }, limit: 100 },
      )
      .toArray();
    return left.map((letter) => letter._id);
  }

  get(id: string): Promise<LetterDocument | null> {
    return this.#letters.findOne({ _id: id });
  }

  /** The newest ones, newest first. */
  newest(limit: number, ended: boolean): Promise<LetterDocument[]> {
    return this.#letters.find(ended ? {} : { open: true }, { sort: { setAsideAtMs: -1 }, limit }).toArray();
  }

  countOpen(): Promise<number> {
    return this.#letters.countDocuments({ open: true });
  }

  /**
   * Claims an open event for a replay; null when it is ended or another replay has claimed it. One that an
   * operator asks for owes its record, and does not expire before its end.
   */
  claim(id: string, claim: string, asked?: Asked): Promise<LetterDocument | null> {
    const now = this.#clock.now();
    const free = { _id: id, open: true, ...unclaimed(now) };
    const claimed = { claim, claimedUntilMs: now + claimMs };
    if (!asked) return this.#update(free, { $set: claimed });
    const { reason, record } = asked;
    const replaying: Update<LetterDocument> = {
      $set: { ...claimed, state: 'replaying', reason },
      $unset: { expiresAt: '' },
    };
    return this.#update(free, owing(replaying, record));
  }

  /** Gives it back as it was before the claim, with its whole time again. */
  async release(id: string, claim: string, error: string): Promise<void> {
    const expiresAt = new Date(this.#clock.now() + this.#keepMs);
    const waiting = { claim: '', claimedUntilMs: 0, state: 'waiting', error, expiresAt } as const;
    await this.#update({ _id: id, claim }, { $set: waiting });
  }

  /** A replay has failed for good. */
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
   * Ends an event whose replay has taken effect. Null when the claim had expired and another replay holds
   * it.
   */
  replayed(id: string, claim: string, what: string): Promise<LetterDocument | null> {
    return this.#end({ _id: id, claim, open: true }, 'replayed', {}, what);
  }

  /** Null when it is already ended or a replay has claimed it. */
  discard(id: string, { reason, record }: Asked): Promise<LetterDocument | null> {
    const free = { _id: id, open: true, ...unclaimed(this.#clock.now()) };
    return this.#end(free, 'discarded', { reason }, `discarded: ${reason}`, record);
  }

  #end(
    filter: Filter<LetterDocument>,
    state: LetterDocument['state'],
    more: Partial<LetterDocument>,
    what: string,
    record?: OwedRecord,
  ): Promise<LetterDocument | null> {
    const now = this.#clock.now();
    const end: Update<LetterDocument> = {
      $set: {
        ...more,
        ...{ state, open: false, blocking: false, claim: '', claimedUntilMs: 0 },
        expiresAt: new Date(now + this.#keepMs),
      },
      ...step(now, what),
    };
    return this.#update(filter, record ? owing(end, record) : end);
  }

  #update(filter: Filter<LetterDocument>, update: Update<LetterDocument>): Promise<LetterDocument | null> {
    return this.#letters.findOneAndUpdate(filter, update, { returnDocument: 'after' });
  }
}

/** What no replay holds. */
export function unclaimed(now: number): Filter<LetterDocument> {
  return { $or: [{ claimedUntilMs: { $lte: now } }, { claimedUntilMs: { $gt: now + farthestMs } }] };
}

function step(atMs: number, what: string): Update<LetterDocument> {
  return { $push: { steps: { $each: [{ atMs, what }], $slice: -maxSteps } } };
}
