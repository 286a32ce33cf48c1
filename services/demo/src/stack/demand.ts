/**
 * Returns `missing`, the reason to skip tests that need a program of this machine. If REQUIRE_REAL_STACK is set (CI),
 * throws instead of skipping.
 */
export function orDemanded(missing: string | undefined): string | undefined {
  if (missing !== undefined && process.env['REQUIRE_REAL_STACK']) {
    throw new Error(`REQUIRE_REAL_STACK is set, but the real stack cannot run: ${missing}`);
  }
  return missing;
}
