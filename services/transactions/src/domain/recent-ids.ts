/** Number of a device's newest ids in its counters. More transactions are seldom created during one dispatch. */
export const recentIdsKept = 16;

/**
 * Returns the id that was created before `id`; 0: `id` is the first. `recentIds` are the device's newest ids in the
 * order of creation.
 */
export function idBefore(recentIds: readonly number[], id: number): number {
  const at = recentIds.indexOf(id);
  if (at > 0) return recentIds[at - 1] as number;
  // Without dropped entries, the first entry is the device's first id. Otherwise the previous id is not known, and the
  // next lower number stands for all earlier ids.
  return at === 0 && recentIds.length < recentIdsKept ? 0 : id - 1;
}
