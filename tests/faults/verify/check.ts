/** One promise and its violations. */
export interface Check {
  readonly name: string;
  readonly violations: readonly string[];
}

/** Returns members that occur more than once, each listed once. */
export function repeated<T>(members: readonly T[]): T[] {
  const seen = new Set<T>();
  return [...new Set(members.filter((one) => seen.has(one) || !seen.add(one)))];
}

export function add(map: Map<string, number>, key: string, n: number): void {
  map.set(key, (map.get(key) ?? 0) + n);
}
