import { randomUUID } from 'node:crypto';
import { DomainError, isTransient } from '../errors.ts';
import { errorText } from '../eventlog/events.ts';
import { handleAndStore } from '../eventlog/settling.ts';
import {
  type Batch,
  type LogEvent,
  NewerVersionError,
  PoisonEventError,
  partitionAndOffset,
  type Subscription,
} from '../eventlog/types.ts';
import type { Failpoints } from '../failpoints.ts';
import type { Logger } from '../logger.ts';
import { type Repetition, repeat } from '../repeat.ts';
import { eventOf, type LetterDocument } from './documents.ts';
import type { Asked, LetterStore, LineHead } from './store.ts';

export interface LinesOptions {
  readonly letters: LetterStore;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
  /** How often events that wait for a newer version are tried again; milliseconds. */
  readonly replayEveryMs: number;
}

/** Lines that are replayed concurrently. */
const linesAtOnce = 8;
/** Tries of a replay whose failure is neither poison nor transient; as many as the first handling has. */
const maxTries = 3;

/**
 * One subscription with its lines (ADR 0020). When an event of a newer version is set aside, the later
 * events of its key are set aside behind it: they form a line. Any member of the group that understands the
 * events replays the line in order. Without a line there is no cost.
 */
export class SubscriptionLines {
  readonly #subscription: Subscription;
  readonly #options: LinesOptions;
  readonly #repetition: Repetition;
  /** The first event of each line, as last read; for its own partitions only this member adds lines. */
  #heads = new Map<string, LineHead>();
  /** The next offset of each partition, if no other member has consumed it meanwhile. */
  readonly #next = new Map<number, number>();
  #lock: Promise<unknown> = Promise.resolve();
  /** A read of all lines that is asked for and has not begun. */
  #nextRead: Promise<void> | undefined;

  constructor(subscription: Subscription, options: LinesOptions) {
    this.#subscription = subscription;
    this.#options = options;
    this.#repetition = repeat(
      `the replay of the dead letters of ${subscription.group}`,
      options.replayEveryMs,
      options.logger,
      () => this.#replayLines(),
    );
  }

  get group(): string {
    return this.#subscription.group;
  }

  get topic(): string {
    return this.#subscription.topic;
  }

  start(): void {
    this.#repetition.start();
    this.#repetition.wake();
  }

  stop(): Promise<void> {
    return this.#repetition.stop();
  }

  /** Subscription.handle; events that belong to a line are set aside behind it. */
  async handle(events: readonly LogEvent[], batch: Batch): Promise<void> {
    const [first] = events;
    const last = events.at(-1);
    if (!first || !last) return;
    const { partition, offset } = partitionAndOffset(first);
    // Another member may have consumed the partition meanwhile and set events of it aside.
    if (this.#next.get(partition) !== offset) await this.#read();
    const free = this.#heads.size === 0 ? events : await this.#locked(() => this.#putBehind(events));
    if (free.length > 0) await this.#subscription.handle(free, batch);
    this.#next.set(partition, partitionAndOffset(last).offset + 1);
  }

  /** Subscription.setAside. */
  setAside(event: LogEvent, error: unknown): Promise<void> {
    const kind = error instanceof NewerVersionError ? 'newer-version' : 'poison';
    return this.#locked(async () => {
      await this.#options.letters.setAside([event], this.group, { kind, error: errorText(error) });
      if (kind === 'newer-version') await this.#readLine(event.key);
      const { partition, offset } = partitionAndOffset(event);
      if (this.#next.get(partition) === offset) this.#next.set(partition, offset + 1);
    });
  }

  /**
   * Replays one event for an operator. Throws DomainError('conflict') when it cannot be claimed or fails
   * again.
   */
  async replay(id: string, asked: Asked): Promise<void> {
    const { letters } = this.#options;
    const found = await letters.get(id);
    if (found?.blocking) await this.#requireFirst(found);
    const claim = randomUUID();
    const letter = await letters.claim(id, claim, asked);
    if (!letter) throw await refusal(letters, id);
    this.#options.failpoints('dead-letters.claimed');
    const failure = await this.#attempt(letter, claim, `replayed by an operator: ${asked.reason}`);
    if (!failure) return;
    if (isTransient(failure)) throw failure;
    throw new DomainError('conflict', `The event could not be handled again: ${errorText(failure)}`);
  }

  async #requireFirst({ key, _id }: LetterDocument): Promise<void> {
    const head = await this.#options.letters.head(this.group, this.topic, key);
    if (head && head.id !== _id) {
      throw new DomainError(
        'conflict',
        `It waits behind ${head.id} of the same key: replay or discard that one first.`,
      );
    }
  }

  /** Sets aside the events that belong behind an earlier event of their key; returns the others. */
  async #putBehind(events: readonly LogEvent[]): Promise<readonly LogEvent[]> {
    const behind: LogEvent[] = [];
    const free: LogEvent[] = [];
    for (const event of events) {
      const head = this.#heads.get(event.key);
      const { partition, offset } = partitionAndOffset(event);
      const before = !head || (head.partition === partition && offset < head.offset);
      (before ? free : behind).push(event);
    }
    if (behind.length > 0) {
      const error = 'It waits behind an event of its key that a newer version has to handle.';
      await this.#options.letters.setAside(behind, this.group, { kind: 'behind', error });
    }
    return free;
  }

  /** Reads all lines. Callers that come before the read begins share it. */
  #read(): Promise<void> {
    this.#nextRead ??= this.#locked(async () => {
      this.#nextRead = undefined;
      this.#heads = await this.#options.letters.heads(this.group, this.topic);
    });
    return this.#nextRead;
  }

  /** Reads one line that has changed. To be called within `#locked`. */
  async #readLine(key: string): Promise<void> {
    const head = await this.#options.letters.head(this.group, this.topic, key);
    if (head) this.#heads.set(key, head);
    else this.#heads.delete(key);
  }

  /**
   * Replays each line as far as this version understands it, and completes operators' abandoned replays.
   */
  async #replayLines(): Promise<number> {
    await this.#read();
    const keys = [...this.#heads.keys()];
    let done = 0;
    const work = async (): Promise<void> => {
      for (let key = keys.shift(); key !== undefined; key = keys.shift()) {
        const replayed = await this.#replayLine(key);
        done += replayed;
        // Reads the line after its last replay: only then may new events of its key pass.
        if (replayed > 0) await this.#locked(() => this.#readLine(key));
      }
    };
    await Promise.all(Array.from({ length: linesAtOnce }, work));
    const { letters } = this.#options;
    for (const id of await letters.abandoned(this.group, this.topic)) {
      const claim = randomUUID();
      const letter = await letters.claim(id, claim);
      if (letter) await this.#attempt(letter, claim, `replayed by an operator: ${letter.reason}`);
    }
    return done;
  }

  async #replayLine(key: string): Promise<number> {
    const { letters, logger } = this.#options;
    for (let done = 0; ; done++) {
      const head = await letters.head(this.group, this.topic, key);
      const claim = randomUUID();
      const letter = head && (await letters.claim(head.id, claim));
      if (!letter) return done;
      const failure = await this.#attempt(letter, claim, 'replayed by itself');
      if (!failure) {
        logger.info({ deadLetter: letter._id }, 'an event that was set aside has been handled');
        continue;
      }
      if (failure instanceof NewerVersionError || isTransient(failure)) return done;
    }
  }

  /** Hands the event to the handler. Returns the failure, if there is one; the event then waits again. */
  async #attempt(letter: LetterDocument, claim: string, what: string): Promise<unknown> {
    const { letters, failpoints } = this.#options;
    const event = eventOf(letter);
    for (let tries = 1; ; tries++) {
      try {
        await handleAndStore(this.#subscription, [event]);
        break;
      } catch (error) {
        if (error instanceof NewerVersionError || isTransient(error)) {
          await letters.release(letter, claim, errorText(error));
          return error;
        }
        if (error instanceof PoisonEventError || tries === maxTries) {
          await letters.failed(letter._id, claim, errorText(error));
          return error;
        }
      }
    }
    failpoints('dead-letters.handled');
    await letters.replayed(letter._id, claim, what);
    return undefined;
  }

  /** Serialises reads and changes of the lines: an event must not pass while its line is being checked. */
  #locked<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#lock.then(work);
    this.#lock = result.catch(() => {});
    return result;
  }
}

/** Why an event cannot be claimed. */
export async function refusal(letters: LetterStore, id: string): Promise<DomainError> {
  const letter = await letters.get(id);
  if (!letter) return new DomainError('not_found', `There is no dead letter ${id}.`);
  if (letter.open)
    return new DomainError('conflict', 'It is being replayed just now.', { retryAfterMs: 1000 });
  const reason = letter.reason === '' ? '' : ` (${letter.reason})`;
  return new DomainError('conflict', `It was ${letter.state} before${reason}.`);
}
