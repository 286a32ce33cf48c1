import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Bytes between two garbage collections. A V8 thread frees the collected memory in the background, on a busy machine
 * only shortly before the next collection. So unused buffers may take up to four times this size.
 */
const bytesPerCollection = 8 * 1024 * 1024;

let collect: NodeJS.GCFunction | undefined;
let passedBytes = 0;

/**
 * Counts bytes that have passed through this process's streams. After a number of bytes, it runs a garbage collection
 * that releases their buffers. The memory of a buffer is outside V8's heap; the heap contains only a small object for
 * it. Therefore V8 itself collects buffers only after 64 MiB of garbage, and then marks the whole heap. The objects are
 * still in the young generation. A collection of the young generation takes only one or two milliseconds.
 */
export function releasePassedBuffers(bytes: number): void {
  passedBytes += bytes;
  if (passedBytes < bytesPerCollection) return;
  passedBytes = 0;
  collect ??= garbageCollector();
  void collect?.({ type: 'minor' });
}

/** V8's garbage collector; undefined if it is not available. */
function garbageCollector(): NodeJS.GCFunction | undefined {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('globalThis.gc');
  return typeof gc === 'function' ? (gc as NodeJS.GCFunction) : undefined;
}
