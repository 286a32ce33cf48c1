/**
 * Sort key of a version: keys have the order of `compareVersions` of rules/version.ts (rule A13), so that a database
 * index can sort versions. A part that is a number is ordered by its value. Any other part is ordered as text, after
 * all numbers. Trailing parts that are 0 are omitted. Equal versions have equal keys.
 */
export function versionKey(version: string): string {
  const parts = version.split('.').map(partKey);
  while (parts.at(-1) === zeroKey) parts.pop();
  return parts.join('');
}

/** Ends a text part; sorts before every character that a version may have. */
const textEnd = ' ';
const zeroKey = partKey('0');

function partKey(part: string): string {
  if (!/^\d+$/.test(part)) return `t${part}${textEnd}`;
  const digits = part.replace(/^0+(?=\d)/, '');
  return `n${String(digits.length).padStart(3, '0')}${digits}`;
}
