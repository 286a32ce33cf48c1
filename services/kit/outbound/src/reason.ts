/**
 * Why an outgoing call failed, for operators. The reason may be in the cause of a `fetch` error, or in the errors of
 * single addresses (AggregateError), of which the first is used.
 */
export function failureReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (error.message === 'fetch failed' && cause !== undefined) return failureReason(cause);
  const [first] = error instanceof AggregateError ? error.errors : [];
  if (error.message === '' && first !== undefined) return failureReason(first);
  return error.message || (error as NodeJS.ErrnoException).code || error.name;
}
