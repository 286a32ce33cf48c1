/**
 * The part of a file that a request asks for: the whole file, a range (`end` is inclusive), or a range outside the
 * file.
 */
export type RequestedRange =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly start: number; readonly end: number }
  | { readonly kind: 'unsatisfiable' };

/** Reads a Range header (RFC 9110 section 14.2) of one range of bytes. Any other value means the whole file. */
export function requestedRange(header: string | undefined, size: number): RequestedRange {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '');
  const [, from = '', to = ''] = match ?? [];
  if (!match || (from === '' && to === '')) return { kind: 'whole' };
  if (from === '') {
    const last = Math.min(Number(to), size);
    return last === 0 ? { kind: 'unsatisfiable' } : { kind: 'part', start: size - last, end: size - 1 };
  }
  const start = Number(from);
  const end = to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (to !== '' && Number(to) < start) return { kind: 'whole' };
  return start >= size ? { kind: 'unsatisfiable' } : { kind: 'part', start, end };
}
