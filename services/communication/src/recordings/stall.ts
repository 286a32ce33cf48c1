import { Transform } from 'node:stream';
import { releasePassedBuffers } from './buffers.ts';

/** Aborts work that makes no progress for a time. */
export interface StallWatch {
  readonly signal: AbortSignal;
  /** Reports progress. */
  progress(): void;
  /** A pass-through stream whose bytes count as progress. */
  meter(): Transform;
  stop(): void;
}

/**
 * `signal` is aborted after `stallMs` without progress, after `totalMs` in any case (a peer may send bytes
 * very slowly), or with `outer`.
 */
export function watchStalls(stallMs: number, outer: AbortSignal, totalMs?: number): StallWatch {
  const stall = new AbortController();
  const total =
    totalMs === undefined
      ? undefined
      : setTimeout(() => stall.abort(new Error(`not done within ${totalMs} ms`)), totalMs);
  const timer = setTimeout(() => stall.abort(new Error(`no progress within ${stallMs} ms`)), stallMs);
  let stopped = false;
  const progress = (): void => {
    // A timer that is refreshed after it was cleared would start again.
    if (!stopped) timer.refresh();
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
      stopped = true;
      clearTimeout(timer);
      clearTimeout(total);
    },
  };
}

/**
 * The promise, or a rejection as soon as the signal is aborted, because undici observes the signal only
 * once it is connected.
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
