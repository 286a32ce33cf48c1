import { type OwedRecord, owing } from '../audit/record.ts';
import type { Clock } from '../clock.ts';
import { areDuplicates } from '../errors.ts';
import { type LogEvent, partitionAndOffset } from '../eventlog/types.ts';
import type { Filter, Update } from '../store/operations.ts';
import type { Store, StoreCollection } from '../store/types.ts';
import { type LetterDocument, type LetterKind, letterId, lettersCollection } from './documents.ts';

/** How long a replay's claim on an event lasts; longer than any handler takes. */
const claimMs = 60_000;
/**
 * How far ahead a claim may end. One that ends later comes from a clock that was ahead, or from before a
 * step back. Several times what a right clock writes: members whose clocks differ by less than four minutes
 * leave each other's claims alone.
 */
const farthestMs = 5 * claimMs;
const maxSteps = 20;
/** Dead letters that one query for the lines of a group reads: the most that are read of one line. */
const linePage = 100;

/** What an operator asks for: with the reason, and the audit record that it owes. */
export interface Asked {
  readonly reason: string;
  readonly record: OwedRecord;
}

/** A line: the events of one key that one group has set aside and that must keep their order. */
export interface LineHead {
  readonly id: string;
  readonly key: string;
  readonly partition: number;
  readonly offset: number;
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

  /** Stores events; documents that exist from an earlier try stay unchanged. */
  async setAside(
    events: readonly LogEvent[],
    group: string,
    why: { kind: LetterKind; error: string },
  ): Promise<void> {
    const now = this.#clock.now();
    const letters = events.map((event): LetterDocument => {
      const ordered = why.kind !== 'poison';
      return {
        _id: letterId(event, group),
        topic: event.topic,
        group,
        key: event.key,
        ...partitionAndOffset(event),
        value: Buffer.from(event.value),
        headers: JSON.stringify(event.headers),
        publishedAtMs: event.timestampMs,
        kind: why.kind,
        state: 'waiting',
        open: true,
        blocking: ordered,
        error: why.error,
        reason: '',
        setAsideAtMs: now,
        claim: '',
        claimedUntilMs: 0,
        steps: [{ atMs: now, what: `set aside: ${why.error}` }],
        ...(!ordered && { expiresAt: new Date(now + this.#keepMs) }),
      };
    });
    try {
      await this.#letters.insertMany(letters, { ordered: false });
    } catch (error) {
      if (!areDuplicates(error)) throw error;
    }
  }

  /** The first event of each line of a group. Long lines are not read to their end. */
  async heads(group: string, topic: string): Promise<Map<string, LineHead>> {
    const heads = new Map<string, LineHead>();
    const blocking = { group, topic, blocking: true };
    for (let after: string | undefined; ; ) {
      const page = await this.#letters
        .find(after === undefined ? blocking : { ...blocking, key: { $gt: after } }, {
          projection: { key: 1, partition: 1, offset: 1 },
          sort: { key: 1, offset: 1 },
          limit: linePage,
        })
        .toArray();
      for (const { _id, key, partition, offset } of page) {
        if (!heads.has(key)) heads.set(key, { id: _id, key, partition, offset });
      }
      if (page.length < linePage) return heads;
      after = page.at(-1)?.key;
    }
  }

  async head(group: string, topic: string, key: string): Promise<LineHead | undefined> {
    const first = await this.#letters.findOne(
      { group, topic, blocking: true, key },
      { sort: { offset: 1 }, projection: { key: 1, partition: 1, offset: 1 } },
    );
    return first ? { id: first._id, key, partition: first.partition, offset: first.offset } : undefined;
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

  countOpen(kinds: readonly LetterKind[]): Promise<number> {
    return this.#letters.countDocuments({ open: true, kind: { $in: [...kinds] } });
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

  /** Gives it back as it was before the claim; poison has its whole time again. */
  async release({ _id, kind }: LetterDocument, claim: string, error: string): Promise<void> {
    const expiresAt = new Date(this.#clock.now() + this.#keepMs);
    const waiting = { claim: '', claimedUntilMs: 0, state: 'waiting', error } as const;
    await this.#update({ _id, claim }, { $set: { ...waiting, ...(kind === 'poison' && { expiresAt }) } });
  }

  /** A replay has failed for good: the events behind it may go on. */
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
