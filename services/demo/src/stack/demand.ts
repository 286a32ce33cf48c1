/**
 * Returns what is missing on this machine, so that tests that need it are skipped with that reason. If
 * REQUIRE_REAL_STACK is set (CI), it throws instead.
 */
export function orDemanded(missing: string | undefined): string | undefined {
  if (missing !== undefined && process.env['REQUIRE_REAL_STACK']) {
    throw new Error(`REQUIRE_REAL_STACK is set, but the real stack cannot run: ${missing}`);
  }
  return missing;
}
