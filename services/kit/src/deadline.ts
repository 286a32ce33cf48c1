import { AsyncLocalStorage } from 'node:async_hooks';
import { DomainError } from './errors.ts';

/**
 * How long the caller of the work in hand still waits (ADR 0022). It travels with the asynchronous
 * context, as traces do: every call to another service and to the database that is made on its
 * behalf ends with it, and none is begun after it. Measured by the monotonic clock.
 */
class Scope {
  readonly untilMs: number;
  /** The work is not a caller's first try: see rpc/retry-budget.ts. */
  readonly retry: boolean;
  /** The answer is given: what goes on in the background has no caller any more. */
  over = false;
  #expired: PromiseWithResolvers<never> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(untilMs: number, retry: boolean) {
    this.untilMs = untilMs;
    this.retry = retry;
  }

  /** Rejects at the deadline; one timer for all that wait. */
  expired(): Promise<never> {
    if (!this.#expired) {
      const expired = Promise.withResolvers<never>();
      expired.promise.catch(() => {});
      if (this.untilMs !== Number.POSITIVE_INFINITY) {
        this.#timer = setTimeout(() => {
          if (!this.over) expired.reject(late());
        }, this.untilMs - performance.now());
      }
      this.#expired = expired;
    }
    return this.#expired.promise;
  }

  end(): void {
    this.over = true;
    clearTimeout(this.#timer);
  }
}

const scopes = new AsyncLocalStorage<Scope | undefined>();

function current(): Scope | undefined {
  const scope = scopes.getStore();
  return scope?.over ? undefined : scope;
}

/** Runs `work` for a caller that waits `ms` from now, or less where an outer caller does. */
export async function withDeadline<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const outer = current();
  const untilMs = performance.now() + ms;
  return inScope(new Scope(Math.min(outer?.untilMs ?? untilMs, untilMs), outer?.retry ?? false), work);
}

/**
 * Runs `work`, which is tried again or repeats, and is no caller's first try: where a peer is in
 * trouble, it holds back (rpc/retry-budget.ts). It keeps the deadline of whoever waits for it.
 */
export function asRetry<T>(work: () => Promise<T>): Promise<T> {
  return inScope(new Scope(current()?.untilMs ?? Number.POSITIVE_INFINITY, true), work);
}

/** True within `asRetry`. */
export function isRetry(): boolean {
  return current()?.retry === true;
}

async function inScope<T>(scope: Scope, work: () => Promise<T>): Promise<T> {
  try {
    return await scopes.run(scope, work);
  } finally {
    scope.end();
  }
}

/** Runs `work` for nobody who waits: what repeats or is shared must not end with whoever began it. */
export function withoutDeadline<T>(work: () => T): T {
  return scopes.run(undefined, work);
}

/** Milliseconds that the caller still waits, not above 0 when it has given up; undefined: nobody waits. */
export function timeLeft(): number | undefined {
  const untilMs = current()?.untilMs ?? Number.POSITIVE_INFINITY;
  return untilMs === Number.POSITIVE_INFINITY ? undefined : untilMs - performance.now();
}

/** Throws `deadline_exceeded` when the caller has given up: what cannot be answered is not started. */
export function requireTime(): void {
  const left = timeLeft();
  if (left !== undefined && left <= 0) throw late();
}

/** The answer of `work`, or `deadline_exceeded` at the deadline, when the work goes on for nobody. */
export function untilDeadline<T>(work: Promise<T>): Promise<T> {
  const scope = current();
  return scope ? Promise.race([work, scope.expired()]) : work;
}

/** The deadline of an item that waits to go with others; none once its caller has its answer. */
export interface Waiter {
  readonly gone: boolean;
  readonly untilMs: number;
}

/** How long the caller in hand waits for what it puts into a queue. */
export function waiter(): Waiter {
  const scope = current();
  return {
    get gone() {
      return scope !== undefined && !scope.over && scope.untilMs <= performance.now();
    },
    get untilMs() {
      return scope && !scope.over ? scope.untilMs : Number.POSITIVE_INFINITY;
    },
  };
}

/** Runs what several wait for: it ends with the last of them. */
export function forWaiters<T>(waiters: readonly Waiter[], work: () => Promise<T>): Promise<T> {
  const untilMs = Math.max(...waiters.map((one) => one.untilMs));
  return scopes.run(undefined, () =>
    untilMs === Number.POSITIVE_INFINITY ? work() : withDeadline(untilMs - performance.now(), work),
  );
}

/** What a caller gets that waited in vain. */
export function late(): DomainError {
  return new DomainError('deadline_exceeded', 'The answer took too long.', { retryAfterMs: 1000 });
}
