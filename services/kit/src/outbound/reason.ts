/**
 * Why a call to the outside failed, for operators: `fetch` only says that it did, and has the reason as its cause;
 * an error of several addresses has one for each.
 */
export function failureReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (error.message === 'fetch failed' && cause !== undefined) return failureReason(cause);
  const [first] = error instanceof AggregateError ? error.errors : [];
  if (error.message === '' && first !== undefined) return failureReason(first);
  return error.message || (error as NodeJS.ErrnoException).code || error.name;
}
