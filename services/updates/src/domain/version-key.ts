/**
 * A text with the order of `compareVersions` of rules/version.ts (rule A13), so that a database index can sort versions.
 * Numbers are ordered by length and digits, other parts as text after every number. Trailing parts that are 0 are left
 * out. Equal versions have equal keys.
 */
export function versionKey(version: string): string {
  const parts = version.split('.').map(partKey);
  while (parts.at(-1) === zero) parts.pop();
  return parts.join('');
}

/** Ends a text part; sorts before every character that a version may have. */
const end = ' ';
const zero = partKey('0');

function partKey(part: string): string {
  if (!/^\d+$/.test(part)) return `t${part}${end}`;
  const digits = part.replace(/^0+(?=\d)/, '');
  return `n${String(digits.length).padStart(3, '0')}${digits}`;
}
