/**
 * True if a lease that ends at `endsAtMs` must be renewed; the renewed lease would end at `untilMs`. True also for a
 * lease with a much later end: it was taken before this clock was set back, and would expire by other instances'
 * clocks.
 */
export function needsRenewal(endsAtMs: number, untilMs: number, leaseMs: number): boolean {
  const aheadMs = endsAtMs - untilMs;
  return aheadMs < -leaseMs / 4 || aheadMs > leaseMs;
}
