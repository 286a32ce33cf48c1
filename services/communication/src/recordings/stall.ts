import { Transform } from 'node:stream';
import { systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import { releasePassedBuffers } from './buffers.ts';

/** Aborts work that makes no progress for some time. */
export interface StallWatch {
  readonly signal: AbortSignal;
  /** Reports progress. */
  progress(): void;
  /** A pass-through stream whose bytes count as progress. */
  meter(): Transform;
  stop(): void;
}

/**
 * Aborts `signal` after `stallMs` without progress, when `outer` aborts, and after `totalMs` in any case. Without
 * `totalMs` a peer that sends bytes very slowly could continue for ever.
 */
export function watchStalls(
  stallMs: number,
  outer: AbortSignal,
  totalMs?: number,
  time: Time = systemTime,
): StallWatch {
  const stall = new AbortController();
  const totalTimer =
    totalMs === undefined
      ? undefined
      : time.setTimeout(() => stall.abort(new Error(`not done within ${totalMs} ms`)), totalMs);
  let progressAtMs = time.monotonicNow();
  let timer: Timer;
  const startTimer = (ms: number): void => {
    timer = time.setTimeout(() => {
      const leftMs = progressAtMs + stallMs - time.monotonicNow();
      if (leftMs > 0) startTimer(leftMs);
      else stall.abort(new Error(`no progress within ${stallMs} ms`));
    }, ms);
  };
  startTimer(stallMs);
  const progress = (): void => {
    progressAtMs = time.monotonicNow();
  };
  return {
    signal: AbortSignal.any([stall.signal, outer]),
    progress,
    meter: () =>
      new Transform({
        transform(chunk: Buffer, _, done) {
          progress();
          releasePassedBuffers(chunk.length);
          done(null, chunk);
        },
      }),
    stop() {
      time.clearTimer(timer);
      time.clearTimer(totalTimer);
    },
  };
}

/**
 * Settles as `work` does, or rejects as soon as the signal is aborted. Needed because undici observes the signal of a
 * request only after it has connected.
 */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    work.catch(() => {});
    return Promise.reject(signal.reason);
  }
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
