/** How many of a device's newest ids its head keeps; more are seldom created during one hand-over. */
export const latelyKept = 16;

/**
 * The id that was created before `id`; 0: it is the first. `lately`: the device's newest ids in the order
 * of creation.
 */
export function idBefore(lately: readonly number[], id: number): number {
  const at = lately.indexOf(id);
  if (at > 0) return lately[at - 1] as number;
  // If it is not the device's first id, the one before is no longer known: the next lower id covers all
  // below.
  return at === 0 && lately.length < latelyKept ? 0 : id - 1;
}
