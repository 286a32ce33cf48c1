/**
 * A text whose order is that of kit/version.ts's `compareVersions` (rule A13), so that a database
 * index can sort versions: numbers by their length and digits, other parts as text behind every
 * number, parts that are 0 at the end left out. Equal versions have equal keys.
 */
export function versionKey(version: string): string {
  const parts = version.split('.').map(partKey);
  while (parts.at(-1) === zero) parts.pop();
  return parts.join('');
}

/** The end of a text part: below every character that a version may have. */
const end = ' ';
const zero = partKey('0');

function partKey(part: string): string {
  if (!/^\d+$/.test(part)) return `t${part}${end}`;
  const digits = part.replace(/^0+(?=\d)/, '');
  return `n${String(digits.length).padStart(3, '0')}${digits}`;
}
