import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Bytes that pass between two collections. The memory of one round is given back by a thread of V8
 * while the next passes, on a busy machine only at the end of that: up to four rounds lie about.
 */
const everyBytes = 8 * 1024 * 1024;

let collect: NodeJS.GCFunction | undefined;
let passed = 0;

/**
 * Counts bytes that have passed through streams of this process, and now and then lets go of their
 * buffers. These lie outside V8's heap, each with a tiny object inside, so that V8 sees no reason to
 * collect them before 64 MiB of them are garbage, and then it marks the whole heap. Collecting the
 * young generation alone, where all of them still are, takes a millisecond or two.
 */
export function releasePassedBuffers(bytes: number): void {
  passed += bytes;
  if (passed < everyBytes) return;
  passed = 0;
  collect ??= exposed();
  void collect?.({ type: 'minor' });
}

/** V8's collector; undefined where it is not to be had. */
function exposed(): NodeJS.GCFunction | undefined {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('globalThis.gc');
  return typeof gc === 'function' ? (gc as NodeJS.GCFunction) : undefined;
}
