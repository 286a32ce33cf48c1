/** The time `ms` before now, by the machine's wall clock; milliseconds since 1970. For test data only. */
export function ago(ms: number): number {
  return Date.now() - ms;
}
