/**
 * What is missing here, if anything: then the tests that need it are skipped and say why. Where
 * REQUIRE_REAL_STACK is set (CI), throws instead.
 */
export function orDemanded(missing: string | undefined): string | undefined {
  if (missing !== undefined && process.env['REQUIRE_REAL_STACK']) {
    throw new Error(`The real stack is demanded here, but: ${missing}`);
  }
  return missing;
}
