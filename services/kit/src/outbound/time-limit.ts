import { systemTime, type Time } from '../clock.ts';

/** Nobody answered in time. The message says what was waited for, and how long. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/**
 * A call that ends after `ms`. Clients only say that it was aborted; this throws NoAnswerError with `missing`, such
 * as 'no answer from HOST'.
 */
export async function withinTime<T>(
  ms: number,
  missing: string,
  call: (signal: AbortSignal) => Promise<T>,
  time: Time = systemTime,
): Promise<T> {
  const limit = new AbortController();
  const { signal } = limit;
  const timer = time.setTimeout(() => limit.abort(new DOMException('no answer in time', 'TimeoutError')), ms);
  timer.unref();
  try {
    return await call(signal);
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new NoAnswerError(`${missing} within ${ms} ms`, { cause });
  } finally {
    time.clearTimer(timer);
  }
}
