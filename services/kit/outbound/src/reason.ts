/**
 * Returns why an outgoing call failed, for operators. The reason of a `fetch` error is in its cause. If several
 * addresses failed (AggregateError), returns the reason of the first.
 */
export function failureReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (error.message === 'fetch failed' && cause !== undefined) return failureReason(cause);
  const [first] = error instanceof AggregateError ? error.errors : [];
  if (error.message === '' && first !== undefined) return failureReason(first);
  return error.message || (error as NodeJS.ErrnoException).code || error.name;
}
