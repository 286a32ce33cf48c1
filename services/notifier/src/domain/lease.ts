/**
 * True if a lease that ends at `endsAtMs` must be renewed; the renewed lease would end at `untilMs`. A lease with a
 * much later end was taken before the clock was set back, and expires by other instances' clocks.
 */
export function leaseIsAging(endsAtMs: number, untilMs: number, leaseMs: number): boolean {
  const offMs = endsAtMs - untilMs;
  return offMs < -leaseMs / 4 || offMs > leaseMs;
}
