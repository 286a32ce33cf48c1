/**
 * Waits until `probe` returns something other than undefined, null or false, and returns that. Throws an
 * error that names `what` after `timeoutMs` (default 30 s, so that a busy machine does not fail the test).
 */
export async function waitFor<T>(
  what: string,
  probe: () => T | Promise<T>,
  options: { timeoutMs?: number; intervalMs?: number } = {},
): Promise<Exclude<NonNullable<T>, false>> {
  const deadline = Date.now() + (options.timeoutMs ?? 30_000);
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) {
      return value as Exclude<NonNullable<T>, false>;
    }
    if (Date.now() > deadline) throw new Error(`timed out waiting for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, options.intervalMs ?? 10));
  }
}
