/** Maximum deliveries in memory for a setting whose destination does not accept callbacks: enough for probes. */
const probingWindow = 16;
/** Maximum deliveries of one claim. A larger write would delay callbacks that can be sent. */
const claimAtOnce = 200;

/** Body bytes per window unit. */
const bytesPerUnit = 8192;

/** Window units of a delivery: one, or more for a large body. Windows and memory are measured in units. */
export function windowUnitsOf({ body }: { readonly body: Uint8Array }): number {
  return Math.max(1, Math.ceil(body.byteLength / bytesPerUnit));
}

/** Maximum window units of one setting in memory; `accepting`: its destination accepts callbacks. */
export function windowOf(windowSize: number, accepting: boolean): number {
  return accepting ? windowSize : Math.min(probingWindow, windowSize);
}

/** Memory of the whole instance in window units: the maximum, and the free units. */
export interface Memory {
  readonly max: number;
  free(): number;
}

/**
 * True if deliveries that wait for others must leave memory. Only the database can provide the deliveries that they
 * wait for, so waiting deliveries must never use all of the memory.
 */
export function isCrowded(queued: number, window: number, memory: Memory): boolean {
  return queued > window / 4 || memory.free() < memory.max / 2;
}

/**
 * Number of deliveries to claim from the database now: 0 while more than half of the window is in use. `units`: average
 * window units of the last claimed deliveries.
 */
export function claimCount(queued: number, window: number, memory: Memory, units = 1): number {
  if (queued > window / 2) return 0;
  const free = Math.min(window - queued, memory.free());
  return free <= 0 ? 0 : Math.max(1, Math.min(Math.floor(free / units), claimAtOnce));
}
