/** Part of a filter: ids that begin so, up to the character behind the last one. */
export function beginningWith(prefix: string): {
  readonly _id: { readonly $gte: string; readonly $lt: string };
} {
  const last = prefix.length - 1;
  const end = prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
  return { _id: { $gte: prefix, $lt: end } };
}
