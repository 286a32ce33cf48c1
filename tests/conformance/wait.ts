import { Broken } from './verdict.ts';

/**
 * Waits until `probe` returns a value other than undefined, null or false, and returns that value. Throws Broken with
 * `what` after `timeoutMs`.
 */
export async function until<T>(
  what: string,
  timeoutMs: number,
  probe: () => T | undefined | null | false,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = probe();
    if (value !== undefined && value !== null && value !== false) return value;
    if (performance.now() > deadline) {
      throw new Broken(`timeout after ${(timeoutMs / 1000).toFixed(1)} s, waiting for ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
