/**
 * Compares dotted versions part by part as numbers (rule A13). Returns a negative number if `a` is older than `b`, 0 if
 * they are equal, a positive number if `a` is newer. Missing parts are 0. A part that is not a number is newer than
 * every number, and compared with others of its kind as text.
 */
export function compareVersions(a: string, b: string): number {
  const left = a.split('.');
  const right = b.split('.');
  for (let i = 0; i < Math.max(left.length, right.length); i += 1) {
    const order = comparePart(left[i] ?? '0', right[i] ?? '0');
    if (order !== 0) return order;
  }
  return 0;
}

export function isOlder(version: string, than: string): boolean {
  return compareVersions(version, than) < 0;
}

function comparePart(a: string, b: string): number {
  const [aNumber, bNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (aNumber && bNumber) {
    const [x, y] = [BigInt(a), BigInt(b)];
    return x < y ? -1 : x > y ? 1 : 0;
  }
  if (aNumber !== bNumber) return aNumber ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
