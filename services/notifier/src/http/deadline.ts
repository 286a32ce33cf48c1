import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';

/** Time limit of one request, which also ends when its caller aborts it. */
export interface Deadline {
  /** Aborted when the time is over or the caller aborts. */
  readonly signal: AbortSignal;
  /** Rejects at the same time. Needed, because undici reacts to `signal` only when it is connected. */
  readonly passed: Promise<never>;
  /** To be called when the request has ended. */
  clear(): void;
}

/** Starts the time limit of `timeoutMs` milliseconds. Throws at once if `stop` is already aborted. */
export function startDeadline(timeoutMs: number, stop: AbortSignal, time: Time = systemTime): Deadline {
  stop.throwIfAborted();
  const abort = new AbortController();
  const { promise: passed, reject } = Promise.withResolvers<never>();
  passed.catch(() => {});
  const giveUp = (reason: unknown): void => {
    abort.abort(reason);
    reject(reason);
  };
  const timer = time.setTimeout(
    () => giveUp(new Error(`no complete answer within ${timeoutMs} ms`)),
    Math.max(timeoutMs, 0),
  );
  const onStop = () => giveUp(stop.reason);
  stop.addEventListener('abort', onStop, { once: true });
  return {
    signal: abort.signal,
    passed,
    clear() {
      time.clearTimer(timer);
      stop.removeEventListener('abort', onStop);
    },
  };
}
