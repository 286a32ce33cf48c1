import { systemTime, type Time, type Timer } from '../clock.ts';
import type { LogEvent, Subscription, Unsettled } from './types.ts';

/** So many events may be handled and not settled before no more are taken. */
const fullAt = 500;

/**
 * Events that are handled in order and durable in any order: tells up to where all are durable. A mark is the
 * position after some events.
 */
export class Settling<Mark> {
  #waiting: {
    readonly mark: Mark;
    readonly events: number;
    open: number;
    unsettled: readonly Unsettled[];
  }[] = [];
  #events = 0;
  #change: PromiseWithResolvers<void> | undefined;
  readonly #onSettled: (mark: Mark) => void;
  readonly #time: Time;

  /** `onSettled` is called with the last mark before which everything is durable; marks only rise. */
  constructor(onSettled: (mark: Mark) => void, time: Time = systemTime) {
    this.#onSettled = onSettled;
    this.#time = time;
  }

  /** `events` more are handled, and end at `mark`. */
  add(mark: Mark, events: number, unsettled: readonly Unsettled[]): void {
    if (unsettled.length === 0 && this.#waiting.length === 0) {
      this.#onSettled(mark);
      return;
    }
    const added = { mark, events, open: unsettled.length, unsettled };
    this.#waiting.push(added);
    this.#events += events;
    for (const { durable } of unsettled) {
      void durable.then(() => {
        added.open -= 1;
        this.#advance();
      });
    }
  }

  /** True while so much is unsettled that no more may be handled. */
  get full(): boolean {
    return this.#events >= fullAt;
  }

  get idle(): boolean {
    return this.#waiting.length === 0;
  }

  /** Asks for everything to be stored now. */
  hurry(): void {
    for (const { open, unsettled } of this.#waiting) if (open > 0) for (const each of unsettled) each.hurry();
  }

  /** Resolves when some more is settled, or after `timeoutMs`. */
  async progress(timeoutMs: number): Promise<void> {
    this.#change ??= Promise.withResolvers();
    let timer: Timer | undefined;
    const timedOut = new Promise<void>((resolve) => {
      timer = this.#time.setTimeout(resolve, timeoutMs);
    });
    await Promise.race([this.#change.promise, timedOut]);
    this.#time.clearTimer(timer);
  }

  /** Has everything stored, and waits until it is, at most `timeoutMs`. */
  async finish(timeoutMs: number): Promise<void> {
    const endsAtMs = this.#time.monotonicNow() + timeoutMs;
    this.hurry();
    for (let leftMs = timeoutMs; !this.idle && leftMs > 0; leftMs = endsAtMs - this.#time.monotonicNow()) {
      await this.progress(leftMs);
    }
  }

  /** What is unsettled is no longer this member's to tell of. */
  forget(): void {
    this.#waiting = [];
    this.#events = 0;
    this.#changed();
  }

  #advance(): void {
    let settled = 0;
    while (this.#waiting[settled]?.open === 0) this.#events -= this.#waiting[settled++]?.events ?? 0;
    const last = this.#waiting[settled - 1];
    if (!last) return;
    this.#waiting.splice(0, settled);
    this.#onSettled(last.mark);
    this.#changed();
  }

  #changed(): void {
    this.#change?.resolve();
    this.#change = undefined;
  }
}

/** Has events handled outside their log, and resolves when all that comes of it is stored. */
export async function handleAndStore(
  subscription: Pick<Subscription, 'handle'>,
  events: readonly LogEvent[],
): Promise<void> {
  const unsettled: Unsettled[] = [];
  await subscription.handle(events, {
    held: () => false,
    durable: () => Promise.resolve(),
    settlesWith: (some) => {
      unsettled.push(some);
    },
  });
  for (const each of unsettled) each.hurry();
  await Promise.all(unsettled.map(({ durable }) => durable));
}
