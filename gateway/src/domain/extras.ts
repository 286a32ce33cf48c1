/** The types that the specification (API 5) gives a top-level extra. */
export type ExtraKind = 'string' | 'boolean' | 'integer' | 'long' | 'double' | 'array' | 'object';

/** Bytes of UTF-8 that extras may have, as sent but without insignificant white space (rule A8). */
export const extrasLimitBytes = 4096;

/**
 * The type of a top-level extra by its JSON text (no null, no surrounding white space): numbers without
 * fraction and exponent are integer if they fit 32 bits, long if they fit 64, otherwise double; `1.0` and
 * `1e3` are doubles (rule A8, rule C15).
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
  // At most 20 characters can fit 64 bits; longer ones need no exact comparison.
  if (text.length > 20) return 'double';
  const n = BigInt(text);
  if (BigInt.asIntN(32, n) === n) return 'integer';
  return BigInt.asIntN(64, n) === n ? 'long' : 'double';
}
