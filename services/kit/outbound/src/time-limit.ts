import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';

/** No answer arrived in time. The message names the missing answer and the time limit. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/**
 * Runs a call and aborts it after `ms`. Then throws NoAnswerError with `missing`, for example 'no answer from HOST'.
 * The client's own error would report only the abort.
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
