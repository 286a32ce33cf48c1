import { AsyncLocalStorage } from 'node:async_hooks';
import { systemTime, type Time, type Timer } from './clock.ts';
import { DomainError } from './errors.ts';

/**
 * The deadline of the current caller (ADR 0022). The asynchronous context carries it, as it carries traces. Every call to
 * another service or to the database for this caller ends at the deadline, and none starts after the deadline. The
 * deadline is measured by the monotonic clock.
 */
class Scope implements Waiter {
  readonly endsAtMs: number;
  readonly time: Time;
  /** True after the caller has its answer: work that continues in the background no longer has a caller. */
  over = false;
  /** Callers that wait for a result, each by the function that rejects at the deadline. */
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
   * The result of `work`, or `deadline_exceeded` at the deadline. All callers share one timer. A race against one
   * promise of the deadline would keep memory for each call until the scope ends.
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

/** Runs `work` for a caller that waits `ms` from now, or less if an outer caller does. */
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

/** Runs `work` without a deadline: repeated or shared work must not end with the call that started it. */
export function withoutDeadline<T>(work: () => T): T {
  return scopes.run(undefined, work);
}

/** Milliseconds until the caller's deadline, 0 or less after it; undefined when there is no deadline. */
export function timeLeft(): number | undefined {
  const endsAtMs = current()?.endsAtMs ?? Number.POSITIVE_INFINITY;
  return endsAtMs === Number.POSITIVE_INFINITY ? undefined : endsAtMs - currentTime().monotonicNow();
}

/** Throws `deadline_exceeded` if the caller has given up, because the answer has no receiver. */
export function requireTime(): void {
  const left = timeLeft();
  if (left !== undefined && left <= 0) throw late();
}

/** The result of `work`, or `deadline_exceeded` at the deadline; the work itself continues. */
export function untilDeadline<T>(work: Promise<T>): Promise<T> {
  const scope = current();
  return scope ? scope.limit(work) : work;
}

/** The deadline of an item that waits for a batch; none after its caller has the answer. */
export interface Waiter {
  readonly gone: boolean;
  readonly untilMs: number;
  /** Measures `untilMs`. */
  readonly time: Time;
}

const patient: Waiter = { gone: false, untilMs: Number.POSITIVE_INFINITY, time: systemTime };

/** The current caller's deadline, for an item that it puts into a queue. */
export function waiter(): Waiter {
  return current() ?? patient;
}

/** Runs work that several callers wait for: its deadline is the latest of theirs. */
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
