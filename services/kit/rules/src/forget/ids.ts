/** Part of a filter: ids with this prefix. The upper limit is the prefix with its last character incremented. */
export function withIdPrefix(prefix: string): {
  readonly _id: { readonly $gte: string; readonly $lt: string };
} {
  const last = prefix.length - 1;
  const end = prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
  return { _id: { $gte: prefix, $lt: end } };
}
