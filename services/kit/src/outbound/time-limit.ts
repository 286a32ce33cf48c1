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
): Promise<T> {
  const signal = AbortSignal.timeout(ms);
  try {
    return await call(signal);
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new NoAnswerError(`${missing} within ${ms} ms`, { cause });
  }
}
