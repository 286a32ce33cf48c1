/** Types of a top-level extra (specification API 5). */
export type ExtraKind = 'string' | 'boolean' | 'integer' | 'long' | 'double' | 'array' | 'object';

/** Maximum bytes of extras in UTF-8, as sent but without insignificant white space (rule A8). */
export const extrasLimitBytes = 4096;

/**
 * The type of a top-level extra by its JSON text (no null, no surrounding white space). Numbers without fraction and
 * exponent are integer if they fit in 32 bits, long if they fit in 64, otherwise double. `1.0` and `1e3` are doubles
 * (rule A8, rule C15).
 */
export function extraKind(text: string): ExtraKind {
  switch (text.charAt(0)) {
    case '"':
      return 'string';
    case 't':
    case 'f':
      return 'boolean';
    case '[':
      return 'array';
    case '{':
      return 'object';
    default:
      return numberKind(text);
  }
}

function numberKind(text: string): ExtraKind {
  if (!/^-?\d+$/.test(text)) return 'double';
  // A number of more than 20 characters does not fit in 64 bits, so BigInt need not parse it.
  if (text.length > 20) return 'double';
  const n = BigInt(text);
  if (BigInt.asIntN(32, n) === n) return 'integer';
  return BigInt.asIntN(64, n) === n ? 'long' : 'double';
}
