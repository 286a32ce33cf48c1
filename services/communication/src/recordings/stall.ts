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
 * `signal` is aborted after `stallMs` without progress, with `outer`, and after `totalMs` in any case, because a peer
 * may send bytes very slowly.
 */
export function watchStalls(
  stallMs: number,
  outer: AbortSignal,
  totalMs?: number,
  time: Time = systemTime,
): StallWatch {
  const stall = new AbortController();
  const total =
    totalMs === undefined
      ? undefined
      : time.setTimeout(() => stall.abort(new Error(`not done within ${totalMs} ms`)), totalMs);
  let progressAtMs = time.monotonicNow();
  let timer: Timer;
  const arm = (ms: number): void => {
    timer = time.setTimeout(() => {
      const leftMs = progressAtMs + stallMs - time.monotonicNow();
      if (leftMs > 0) arm(leftMs);
      else stall.abort(new Error(`no progress within ${stallMs} ms`));
    }, ms);
  };
  arm(stallMs);
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
      time.clearTimer(total);
    },
  };
}

/**
 * The promise, or a rejection as soon as the signal is aborted. undici observes the signal only once it is connected.
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
