import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Bytes between two collections. A V8 thread frees the memory of one round during the next round, on a busy machine
 * only at its end. So up to four rounds may be garbage at a time.
 */
const everyBytes = 8 * 1024 * 1024;

let collect: NodeJS.GCFunction | undefined;
let passed = 0;

/**
 * Counts bytes that have passed through this process's streams, and collects their buffers at intervals. The buffers
 * are outside V8's heap, where each has only a tiny object. Therefore V8 collects them only after 64 MiB of garbage,
 * and then marks the whole heap. A collection of the young generation, which still holds all of these objects, takes a
 * millisecond or two.
 */
export function releasePassedBuffers(bytes: number): void {
  passed += bytes;
  if (passed < everyBytes) return;
  passed = 0;
  collect ??= exposed();
  void collect?.({ type: 'minor' });
}

/** V8's garbage collector; undefined if it is not available. */
function exposed(): NodeJS.GCFunction | undefined {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('globalThis.gc');
  return typeof gc === 'function' ? (gc as NodeJS.GCFunction) : undefined;
}
