import { randomUUID } from 'node:crypto';
import { DomainError, isTransient } from '../errors.ts';
import { errorText } from '../eventlog/events.ts';
import { type LogEvent, NewerVersionError, PoisonEventError, type Subscription } from '../eventlog/types.ts';
import type { Failpoints } from '../failpoints.ts';
import type { Logger } from '../logger.ts';
import { type Repetition, repeat } from '../repeat.ts';
import { eventOf, type LetterDocument, placeOf } from './documents.ts';
import type { LetterStore, LineHead } from './store.ts';

export interface LinesOptions {
  readonly letters: LetterStore;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
  /** How often what waits for a newer version is tried; milliseconds. */
  readonly replayEveryMs: number;
}

/** Lines that are replayed at a time. */
const linesAtOnce = 8;
/** How often a replay tries what fails in another way than by poison, as the first handling does. */
const maxTries = 3;

/**
 * One subscription with its lines (ADR 0020): where an event of a newer version is set aside, the later
 * events of its key go behind it, and all of them are replayed in their order by whichever member of
 * the group understands them. Costs nothing while there is no line.
 */
export class SubscriptionLines {
  readonly #subscription: Subscription;
  readonly #options: LinesOptions;
  readonly #repetition: Repetition;
  /** The first event of each line, as last read; only this member adds to those of its partitions. */
  #heads: ReadonlyMap<string, LineHead> = new Map();
  /** The offset that each partition goes on with, if no other member has had it meanwhile. */
  readonly #next = new Map<number, number>();
  #lock: Promise<unknown> = Promise.resolve();

  constructor(subscription: Subscription, options: LinesOptions) {
    this.#subscription = subscription;
    this.#options = options;
    this.#repetition = repeat(
      `the replay of what ${subscription.group} set aside`,
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

  /** Subscription.handle, with what stands in a line put behind it. */
  async handle(events: readonly LogEvent[]): Promise<void> {
    const [first] = events;
    const last = events.at(-1);
    if (!first || !last) return;
    const { partition, offset } = placeOf(first);
    // Another member may have had the partition, and have set events of it aside.
    if (this.#next.get(partition) !== offset) await this.#locked(() => this.#read());
    const free = this.#heads.size === 0 ? events : await this.#locked(() => this.#putBehind(events));
    if (free.length > 0) await this.#subscription.handle(free);
    this.#next.set(partition, placeOf(last).offset + 1);
  }

  /** Subscription.setAside. */
  setAside(event: LogEvent, error: unknown): Promise<void> {
    const kind = error instanceof NewerVersionError ? 'newer-version' : 'poison';
    return this.#locked(async () => {
      await this.#options.letters.setAside([event], this.group, { kind, error: errorText(error) });
      if (kind === 'newer-version') await this.#read();
    });
  }

  /** Replays one at an operator's wish. Throws DomainError('conflict') when it is not to be had or fails again. */
  async replay(id: string, reason: string): Promise<void> {
    const { letters } = this.#options;
    const found = await letters.get(id);
    if (found?.blocking) await this.#requireFirst(found);
    const claim = randomUUID();
    const letter = await letters.claim(id, claim, { reason });
    if (!letter) throw await refusal(letters, id);
    this.#options.failpoints('dead-letters.claimed');
    const failure = await this.#attempt(letter, claim, `replayed by an operator: ${reason}`);
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

  /** Sets aside what belongs behind an event of its key; answers the rest. */
  async #putBehind(events: readonly LogEvent[]): Promise<readonly LogEvent[]> {
    const behind: LogEvent[] = [];
    const free: LogEvent[] = [];
    for (const event of events) {
      const head = this.#heads.get(event.key);
      const { partition, offset } = placeOf(event);
      const before = !head || (head.partition === partition && offset < head.offset);
      (before ? free : behind).push(event);
    }
    if (behind.length > 0) {
      const error = 'It waits behind an event of its key that a newer version has to handle.';
      await this.#options.letters.setAside(behind, this.group, { kind: 'behind', error });
    }
    return free;
  }

  async #read(): Promise<void> {
    this.#heads = await this.#options.letters.heads(this.group, this.topic);
  }

  /** Replays each line as far as this version understands it, and what operators' replays left undone. */
  async #replayLines(): Promise<number> {
    await this.#locked(() => this.#read());
    const keys = [...this.#heads.keys()];
    let done = 0;
    const work = async (): Promise<void> => {
      for (let key = keys.shift(); key !== undefined; key = keys.shift()) done += await this.#replayLine(key);
    };
    await Promise.all(Array.from({ length: linesAtOnce }, work));
    // Only now may events of these keys pass again: the lines were read empty after the last replay.
    if (done > 0) await this.#locked(() => this.#read());
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

  /** Hands the event over; answers the failure, after which it waits again. */
  async #attempt(letter: LetterDocument, claim: string, what: string): Promise<unknown> {
    const { letters, failpoints } = this.#options;
    const event = eventOf(letter);
    for (let tries = 1; ; tries++) {
      try {
        await this.#subscription.handle([event]);
        break;
      } catch (error) {
        if (error instanceof NewerVersionError || isTransient(error)) {
          await letters.release(letter._id, claim, errorText(error));
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

  /** What changes or reads the lines goes one at a time: an event must not pass while its line is judged. */
  #locked<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#lock.then(work);
    this.#lock = result.catch(() => {});
    return result;
  }
}

/** Why an event is not to be had. */
export async function refusal(letters: LetterStore, id: string): Promise<DomainError> {
  const letter = await letters.get(id);
  if (!letter) return new DomainError('not_found', `There is no dead letter ${id}.`);
  if (letter.open)
    return new DomainError('conflict', 'It is being replayed just now.', { retryAfterMs: 1000 });
  const reason = letter.reason === '' ? '' : ` (${letter.reason})`;
  return new DomainError('conflict', `It was ${letter.state} before${reason}.`);
}
