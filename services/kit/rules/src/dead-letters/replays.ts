import { randomUUID } from 'node:crypto';
import { handleAndStore } from '@headset-cloud/eventlog/settling.ts';
import { NewerVersionError, PoisonEventError, type Subscription } from '@headset-cloud/eventlog/types.ts';
import { errorText } from '@headset-cloud/runtime/error-text.ts';
import { DomainError, isTransient } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { type Repetition, repeat } from '@headset-cloud/runtime/repeat.ts';
import { type DeadLetterDocument, eventOf } from './documents.ts';
import type { DeadLetterStore, OperatorRequest } from './store.ts';

export interface ReplaysOptions {
  readonly deadLetters: DeadLetterStore;
  readonly logger: Logger;
  /** Interval of the search for replays that a dead process has not completed; milliseconds. */
  readonly replayEveryMs: number;
}

/** Maximum number of attempts if the failure is neither poison nor transient; the same as for the first delivery. */
const maxTries = 3;

/** Replays the dead letters of one subscription for operators, in a process with this subscription (ADR 0020). */
export class Replays {
  readonly #subscription: Subscription;
  readonly #options: ReplaysOptions;
  readonly #repetition: Repetition;

  constructor(subscription: Subscription, options: ReplaysOptions) {
    this.#subscription = subscription;
    this.#options = options;
    this.#repetition = repeat(
      `the replay of the dead letters of ${subscription.group}`,
      options.replayEveryMs,
      options.logger,
      () => this.#completeAbandoned(),
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

  /**
   * Replays one event for an operator. Throws DomainError('conflict') when it cannot be claimed or fails
   * again.
   */
  async replay(id: string, request: OperatorRequest): Promise<void> {
    const { deadLetters } = this.#options;
    const claim = randomUUID();
    const deadLetter = await deadLetters.claim(id, claim, request);
    if (!deadLetter) throw await unclaimableError(deadLetters, id);
    const failure = await this.#attempt(deadLetter, claim, request.reason);
    if (!failure) return;
    if (isTransient(failure)) throw failure;
    throw new DomainError('conflict', `The event could not be handled again: ${errorText(failure)}`);
  }

  /** Completes replays that a dead process has not completed. Returns their number. */
  async #completeAbandoned(): Promise<number> {
    const { deadLetters } = this.#options;
    const abandoned = await deadLetters.abandoned(this.group, this.topic);
    for (const id of abandoned) {
      const claim = randomUUID();
      const deadLetter = await deadLetters.claim(id, claim);
      if (deadLetter) await this.#attempt(deadLetter, claim, deadLetter.reason);
    }
    return abandoned.length;
  }

  /** Delivers the event to the handler. Returns the failure, if any; after a failure the event stays a dead letter. */
  async #attempt(deadLetter: DeadLetterDocument, claim: string, reason: string): Promise<unknown> {
    const { deadLetters } = this.#options;
    const event = eventOf(deadLetter);
    for (let tries = 1; ; tries++) {
      try {
        await handleAndStore(this.#subscription, [event]);
        break;
      } catch (error) {
        if (error instanceof NewerVersionError || isTransient(error)) {
          await deadLetters.release(deadLetter._id, claim, errorText(error));
          return error;
        }
        if (error instanceof PoisonEventError || tries === maxTries) {
          await deadLetters.failed(deadLetter._id, claim, errorText(error));
          return error;
        }
      }
    }
    await deadLetters.replayed(deadLetter._id, claim, `replayed by an operator: ${reason}`);
    return undefined;
  }
}

/** Returns the error that explains why an event cannot be claimed. */
export async function unclaimableError(deadLetters: DeadLetterStore, id: string): Promise<DomainError> {
  const deadLetter = await deadLetters.get(id);
  if (!deadLetter) return new DomainError('not_found', `There is no dead letter ${id}.`);
  if (deadLetter.open)
    return new DomainError('conflict', 'It is being replayed just now.', { retryAfterMs: 1000 });
  const reason = deadLetter.reason === '' ? '' : ` (${deadLetter.reason})`;
  return new DomainError('conflict', `It was ${deadLetter.state} before${reason}.`);
}
