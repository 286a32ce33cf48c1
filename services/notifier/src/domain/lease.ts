/**
 * True when a lease is to be renewed that ends at `endsAtMs`; a renewed one would end at `untilMs`. One
 * that ends much later was taken before the clock was set back: others see it run out.
 */
export function leaseIsAging(endsAtMs: number, untilMs: number, leaseMs: number): boolean {
  const offMs = endsAtMs - untilMs;
  return offMs < -leaseMs / 4 || offMs > leaseMs;
}
