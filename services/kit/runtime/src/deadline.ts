import { AsyncLocalStorage } from 'node:async_hooks';
import { systemTime, type Time, type Timer } from './clock.ts';
import { DomainError } from './errors.ts';

/**
 * The deadline of the current caller (ADR 0022), by the monotonic clock. The asynchronous context carries the deadline,
 * as it carries traces. Every call to another service or to the database for this caller ends at the deadline, and no
 * call starts after the deadline.
 */
class Scope implements Waiter {
  readonly endsAtMs: number;
  readonly time: Time;
  /** True after the caller has its answer. Work that continues in the background then has no deadline. */
  over = false;
  /** The functions that reject the pending calls of `limit` at the deadline. */
  readonly #waiting = new Set<(reason: DomainError) => void>();
  #timer: Timer | undefined;

  constructor(endsAtMs: number, time: Time) {
    this.endsAtMs = endsAtMs;
    this.time = time;
  }

  get gone(): boolean {
    return !this.over && this.endsAtMs <= this.time.monotonicNow();
  }

  get untilMs(): number {
    return this.over ? Number.POSITIVE_INFINITY : this.endsAtMs;
  }

  /**
   * Resolves as `work`, or rejects with `deadline_exceeded` at the deadline. All calls share one timer. `Promise.race`
   * with a shared promise for the deadline is not used, because it would keep memory for each call until the scope
   * ends.
   */
  limit<T>(work: Promise<T>): Promise<T> {
    if (this.endsAtMs === Number.POSITIVE_INFINITY) return work;
    const leftMs = Math.max(0, this.endsAtMs - this.time.monotonicNow());
    this.#timer ??= this.time.setTimeout(() => {
      this.#timer = undefined;
      for (const reject of this.#waiting) reject(late());
    }, leftMs);
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject);
      work.then(
        (result) => {
          this.#waiting.delete(reject);
          resolve(result);
        },
        (error) => {
          this.#waiting.delete(reject);
          reject(error);
        },
      );
    });
  }

  end(): void {
    this.over = true;
    this.time.clearTimer(this.#timer);
  }
}

const scopes = new AsyncLocalStorage<Scope | undefined>();

function current(): Scope | undefined {
  const scope = scopes.getStore();
  return scope?.over ? undefined : scope;
}

function currentTime(): Time {
  return current()?.time ?? systemTime;
}

/** Runs `work` with a deadline `ms` from now, or with the current deadline if it is earlier. */
export function withDeadline<T>(ms: number, work: () => Promise<T>, time: Time = currentTime()): Promise<T> {
  const waitsMs = Math.min(ms, timeLeft() ?? Number.POSITIVE_INFINITY);
  return inScope(new Scope(time.monotonicNow() + waitsMs, time), work);
}

async function inScope<T>(scope: Scope, work: () => Promise<T>): Promise<T> {
  try {
    return await scopes.run(scope, work);
  } finally {
    scope.end();
  }
}

/** Runs `work` without a deadline. For repeated or shared work, which must not end with the call that started it. */
export function withoutDeadline<T>(work: () => T): T {
  return scopes.run(undefined, work);
}

/** Milliseconds until the caller's deadline, 0 or less after it; undefined when there is no deadline. */
export function timeLeft(): number | undefined {
  const endsAtMs = current()?.endsAtMs ?? Number.POSITIVE_INFINITY;
  return endsAtMs === Number.POSITIVE_INFINITY ? undefined : endsAtMs - currentTime().monotonicNow();
}

/** Throws `deadline_exceeded` if the deadline has passed, because the caller no longer waits for the answer. */
export function requireTime(): void {
  const left = timeLeft();
  if (left !== undefined && left <= 0) throw late();
}

/** Resolves as `work`, or rejects with `deadline_exceeded` at the deadline; the work itself continues. */
export function untilDeadline<T>(work: Promise<T>): Promise<T> {
  const scope = current();
  return scope ? scope.limit(work) : work;
}

/** The deadline of an item that waits for a batch. */
export interface Waiter {
  /** True if the deadline has passed. */
  readonly gone: boolean;
  /** The deadline; infinite without a deadline, or after the caller has its answer. */
  readonly untilMs: number;
  /** The clock of `untilMs`. */
  readonly time: Time;
}

const noDeadline: Waiter = { gone: false, untilMs: Number.POSITIVE_INFINITY, time: systemTime };

/** The current caller's deadline, for an item that it puts into a queue. */
export function waiter(): Waiter {
  return current() ?? noDeadline;
}

/** Runs work that several callers wait for. Its deadline is the latest deadline of these callers. */
export function forWaiters<T>(waiters: readonly Waiter[], work: () => Promise<T>): Promise<T> {
  let untilMs = 0;
  for (const one of waiters) untilMs = Math.max(untilMs, one.untilMs);
  return untilMs === Number.POSITIVE_INFINITY
    ? withoutDeadline(work)
    : inScope(new Scope(untilMs, waiters[0]?.time ?? systemTime), work);
}

/** The error that a caller gets after its deadline. */
export function late(): DomainError {
  return new DomainError('deadline_exceeded', 'The answer took too long.', { retryAfterMs: 1000 });
}
