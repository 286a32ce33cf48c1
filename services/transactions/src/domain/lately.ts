/** How many of a device's newest ids its head keeps: more are seldom created within one hand-over. */
export const latelyKept = 16;

/** The id that was created before `id`, of a device's newest in the order of creation; 0: it is the first. */
export function idBefore(lately: readonly number[], id: number): number {
  const at = lately.indexOf(id);
  if (at > 0) return lately[at - 1] as number;
  // Unless it is the first, it is too long ago to be known: then everything below it counts.
  return at === 0 && lately.length < latelyKept ? 0 : id - 1;
}
