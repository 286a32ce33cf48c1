import { systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import type { LogEvent, Subscription, Unsettled } from './types.ts';

/** Maximum number of events that are handled and not settled. */
const maxUnsettled = 500;

/**
 * Tracks events that are handled in order and become durable in any order. Reports the position up to which all events
 * are durable. A mark identifies the position after an event.
 */
export class Settling<Mark> {
  #waiting: {
    readonly mark: Mark;
    readonly events: number;
    /** Number of `unsettled` that are not durable yet. */
    open: number;
    unsettled: readonly Unsettled[];
  }[] = [];
  /** Number of events in `#waiting`. */
  #events = 0;
  #change: PromiseWithResolvers<void> | undefined;
  readonly #onSettled: (mark: Mark) => void;
  readonly #time: Time;

  /** `onSettled` is called with the last mark before which everything is durable; marks only rise. */
  constructor(onSettled: (mark: Mark) => void, time: Time = systemTime) {
    this.#onSettled = onSettled;
    this.#time = time;
  }

  /** Adds `events` handled events, which end at `mark`. */
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

  /** True while no more events may be handled, because too many are unsettled. */
  get full(): boolean {
    return this.#events >= maxUnsettled;
  }

  /** True if no event is unsettled. */
  get idle(): boolean {
    return this.#waiting.length === 0;
  }

  /** Requests that all unsettled writes are stored now. */
  hurry(): void {
    for (const { open, unsettled } of this.#waiting) {
      if (open > 0) for (const each of unsettled) each.hurry();
    }
  }

  /** Resolves when more events are settled, or after `timeoutMs`. */
  async progress(timeoutMs: number): Promise<void> {
    this.#change ??= Promise.withResolvers();
    let timer: Timer | undefined;
    const timedOut = new Promise<void>((resolve) => {
      timer = this.#time.setTimeout(resolve, timeoutMs);
    });
    await Promise.race([this.#change.promise, timedOut]);
    this.#time.clearTimer(timer);
  }

  /** Requests that everything is stored, and waits for it, at most `timeoutMs`. */
  async finish(timeoutMs: number): Promise<void> {
    const endsAtMs = this.#time.monotonicNow() + timeoutMs;
    this.hurry();
    for (let leftMs = timeoutMs; !this.idle && leftMs > 0; leftMs = endsAtMs - this.#time.monotonicNow()) {
      await this.progress(leftMs);
    }
  }

  /** Forgets unsettled events without reporting them: this member no longer owns them. */
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

/** Handles events outside their log, and resolves when all resulting writes are stored. */
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
