import { type BackoffBounds, longestBackoffMs } from '@headset-cloud/runtime/backoff.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { isTooSlow, isTransient } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import {
  type LogEvent,
  NewerVersionError,
  PoisonEventError,
  type Subscription,
  type Unsettled,
} from './types.ts';

/** Dependencies of the delivery of one batch; the adapter that read the batch provides them. */
export interface DeliveryOptions {
  readonly group: string;
  readonly handle: Subscription['handle'];
  /** Stores an event among the dead letters; resolves when it is durable there. */
  readonly deadLetter: (event: LogEvent, error: unknown) => Promise<void>;
  /** See Batch.held. */
  readonly held: () => boolean;
  /** See Batch.durable; absent: every delivered event is durable. */
  readonly durable?: () => Promise<void>;
  /**
   * Called when the first `count` events of the batch are handled; `count` only rises. The events are durable at the
   * call, or after everything in `unsettled` of this and earlier calls is durable.
   */
  readonly onHandled: (count: number, unsettled: readonly Unsettled[]) => void;
  /** Called while working and while waiting; rejects when the member has lost the partition. */
  readonly heartbeat?: () => Promise<void>;
  /** Aborted when the subscription closes: no new work starts, waits end at once. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Waits between tries; milliseconds. Default 100 to 5000. */
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number };
  readonly time?: Time;
}

/** Maximum number of tries of a whole batch, and of a single event, if the error is not transient. */
const maxTries = 3;
/** Number of tries that took too long after which a batch is split. */
const maxSlowTries = 2;
const heartbeatIntervalMs = 1000;

/**
 * Hands a batch to a handler by the rules of `Subscription.handle` (rule C4). Retries transient failures and events
 * of a newer version without end; splits a batch into halves if it took too long. Moves a named poison event to the
 * dead letters. After any other failure, retries the batch a few times, then in halves down to single events; the
 * failing single events become dead letters. Keeps the order of events. Returns true if every event is handled or a
 * dead letter; false if it was stopped before (closing, or the partition was lost). Never rejects.
 */
export async function deliver(events: readonly LogEvent[], options: DeliveryOptions): Promise<boolean> {
  if (events.length === 0) return true;
  const delivery = new Delivery(options);
  const { heartbeat, time = systemTime } = options;
  if (!heartbeat) return await delivery.run(events);
  const timer = time.setInterval(() => {
    heartbeat().catch(() => delivery.lose());
  }, heartbeatIntervalMs);
  try {
    return await delivery.run(events);
  } finally {
    time.clearTimer(timer);
  }
}

/** Consecutive events that one call delivers, and the end of this segment in the batch. */
interface Segment {
  readonly events: readonly LogEvent[];
  readonly end: number;
}

class Delivery {
  readonly #options: DeliveryOptions;
  #lost = false;
  #wake: (() => void) | undefined;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** Stops after the current call of the handler, because the member has lost the partition. */
  lose(): void {
    this.#lost = true;
    this.#wake?.();
  }

  async run(events: readonly LogEvent[]): Promise<boolean> {
    // The next segment is on top of the stack, so that halves keep their order.
    const stack: Segment[] = [{ events, end: events.length }];
    for (let segment = stack.pop(); segment; segment = stack.pop()) {
      const whole = segment.events.length === events.length;
      const outcome = await this.#deliver(
        segment.events,
        whole || segment.events.length === 1 ? maxTries : 1,
      );
      if (outcome === 'stopped') return false;
      if ('unsettled' in outcome) {
        this.#options.onHandled(segment.end, outcome.unsettled);
        if (this.#stopped && stack.length > 0) return false;
        continue;
      }
      const rest = outcome.split;
      const middle = rest.length >> 1;
      stack.push({ events: rest.slice(middle), end: segment.end });
      const left = rest.slice(0, middle);
      stack.push({ events: left, end: events.indexOf(left.at(-1) as LogEvent) + 1 });
    }
    return true;
  }

  get #stopped(): boolean {
    return this.#lost || this.#options.signal.aborted;
  }

  /** Tries until every event is handled or a dead letter, or the segment has to be split. */
  async #deliver(
    events: readonly LogEvent[],
    tries: number,
  ): Promise<'stopped' | { unsettled: readonly Unsettled[] } | { split: readonly LogEvent[] }> {
    // Collected over all tries: a failed try may have started writes.
    const unsettled: Unsettled[] = [];
    const batch = {
      held: this.#options.held,
      durable: this.#options.durable ?? (() => Promise.resolve()),
      settlesWith: (some: Unsettled) => {
        unsettled.push(some);
      },
    };
    let rest = events;
    let failures = 0;
    let slow = 0;
    for (let waits = 0; rest.length > 0; ) {
      try {
        await this.#options.handle(rest, batch);
        return { unsettled };
      } catch (error) {
        const poison = error instanceof PoisonEventError ? find(rest, error.event) : undefined;
        if (poison) {
          if (!(await this.#deadLetter(poison, error))) return 'stopped';
          rest = rest.filter((event) => event !== poison);
          if (this.#stopped) return 'stopped';
          continue;
        }
        this.#log(rest, error);
        if (isTransient(error) || error instanceof NewerVersionError) {
          // The same batch would take too long again, but a slow database may handle a smaller batch in time.
          if (isTooSlow(error)) slow += 1;
          if (slow >= maxSlowTries && rest.length > 1) return this.#stopped ? 'stopped' : { split: rest };
        } else {
          failures += 1;
          const only = rest.length === 1 ? rest[0] : undefined;
          if (failures >= tries && only)
            return (await this.#deadLetter(only, error)) ? { unsettled } : 'stopped';
          if (failures >= tries) return this.#stopped ? 'stopped' : { split: rest };
        }
      }
      if (!(await this.#wait(waits))) return 'stopped';
      waits += 1;
    }
    return { unsettled };
  }

  /** Dead-letters one event, retrying without end; false when stopped before that. */
  async #deadLetter(event: LogEvent, error: unknown): Promise<boolean> {
    for (let waits = 0; ; waits += 1) {
      try {
        await this.#options.deadLetter(event, error);
        this.#options.logger.error(
          { group: this.#options.group, topic: event.topic, position: event.position, err: error },
          'an event could not be handled and became a dead letter',
        );
        return true;
      } catch (failure) {
        this.#log([event], failure);
        if (!(await this.#wait(waits))) return false;
      }
    }
  }

  #log(events: readonly LogEvent[], error: unknown): void {
    const { logger, group } = this.#options;
    const [first] = events;
    logger.warn(
      { group, topic: first?.topic, position: first?.position, events: events.length, err: error },
      'events could not be handled, trying again',
    );
  }

  /** Waits the backoff after the n-th failure (from 0). Returns false if the delivery was stopped meanwhile. */
  async #wait(n: number): Promise<boolean> {
    if (this.#stopped) return false;
    const ms = longestBackoffMs(n + 1, this.#options.backoff ?? defaultBackoff);
    const { signal, time = systemTime } = this.#options;
    await new Promise<void>((resolve) => {
      const timer = time.setTimeout(resolve, ms);
      this.#wake = () => {
        time.clearTimer(timer);
        resolve();
      };
      signal.addEventListener('abort', this.#wake, { once: true });
    });
    if (this.#wake) signal.removeEventListener('abort', this.#wake);
    this.#wake = undefined;
    return !this.#stopped;
  }
}

/** Waits before an event that could not be applied is delivered again. */
const defaultBackoff: BackoffBounds = { firstMs: 100, maxMs: 5000 };

function find(events: readonly LogEvent[], wanted: LogEvent): LogEvent | undefined {
  return events.find((event) => event.position === wanted.position && event.topic === wanted.topic);
}
