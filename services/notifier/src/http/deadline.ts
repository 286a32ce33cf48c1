import { systemTime, type Time } from '@headset-cloud/kit/clock.ts';

/** The time of one request, which also ends when its caller stops it. */
export interface Deadline {
  /** Aborted when the time is over or the caller stops. */
  readonly signal: AbortSignal;
  /** Rejects then: undici heeds an abort only once it is connected, this is heeded at once. */
  readonly passed: Promise<never>;
  /** The request is over. */
  clear(): void;
}

/** Starts the clock; `timeoutMs` in milliseconds. Throws at once when `stop` is aborted already. */
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
