/** Queued for a setting whose destination does not take callbacks: enough to probe it with. */
const probingWindow = 16;
/** Claimed with one write: a large one would hold up the callbacks that can go. */
const claimAtOnce = 200;

/** A body that begins another portion of so many bytes takes another place in memory. */
const bytesOfPlace = 8192;

/** Places in memory that a delivery takes: one, unless its body is large. Windows and rooms are counted in them. */
export function placesOf({ body }: { readonly body: Uint8Array }): number {
  return Math.max(1, Math.ceil(body.byteLength / bytesOfPlace));
}

/** How many deliveries of one setting may be queued in memory; `taking`: its destination takes callbacks. */
export function windowOf(windowSize: number, taking: boolean): number {
  return taking ? windowSize : Math.min(probingWindow, windowSize);
}

/** The memory of the whole instance: how many more deliveries it may queue, and how many in all. */
export interface Memory {
  readonly max: number;
  room(): number;
}

/**
 * True when deliveries that wait for others must make room: only the database can bring on what they
 * wait for, so they never take all of it.
 */
export function isCrowded(queued: number, window: number, memory: Memory): boolean {
  return queued > window / 4 || memory.room() < memory.max / 2;
}

/**
 * How many to claim from the database now: a portion, once at most half of the window is in use. `places`: what
 * each of the last ones took.
 */
export function claimCount(queued: number, window: number, memory: Memory, places = 1): number {
  if (queued > window / 2) return 0;
  const room = Math.min(window - queued, memory.room());
  return room <= 0 ? 0 : Math.max(1, Math.min(Math.floor(room / places), claimAtOnce));
}
