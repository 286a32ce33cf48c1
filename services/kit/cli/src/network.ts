/** Returns the code of a network error (ECONNREFUSED, ENOTFOUND, …); undefined for any other error. */
export function networkReason(error: unknown): string | undefined {
  const { code } = rootCause(error);
  return typeof code === 'string' && /^E[A-Z_]+$/.test(code) ? code : undefined;
}

/** True if no connection was opened, because the port is closed or the name is unknown. So the call had no effect. */
export function neverReached(error: unknown): boolean {
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].includes(String(rootCause(error).code));
}

function rootCause(error: unknown): { code?: unknown } {
  let cause = error as { code?: unknown; cause?: unknown };
  while (typeof cause.cause === 'object' && cause.cause !== null) cause = cause.cause;
  return cause;
}
