import type { Verdict } from './check-file.ts';

/** The checking process's handle of the file; 0 to 2 are the standard streams, 3 is the channel. */
export const fileHandle = 4;

/** What a checking process tells. */
export type Told =
  /** Its code is loaded; from now on its end is caused by the file. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'verdict'; readonly verdict: Verdict; readonly peakBytes: number }
  /** The file could not be read. */
  | { readonly kind: 'failed'; readonly reason: string };
