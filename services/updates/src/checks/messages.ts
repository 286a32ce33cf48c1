import type { Verdict } from './check-file.ts';

/** File descriptor of the file in the checking process. 0 to 2 are the standard streams, 3 is the channel. */
export const fileDescriptor = 4;

/** Message of a checking process. */
export type CheckMessage =
  /** The code is loaded. If the process crashes after this message, the file is the cause. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'verdict'; readonly verdict: Verdict; readonly peakBytes: number }
  /** The file could not be read. */
  | { readonly kind: 'failed'; readonly reason: string };
