import { createRequire } from 'node:module';

/** kafkajs' queue of one connection's requests, as far as it is used here. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  /** Milliseconds since 1970; -1 while the broker has not asked for patience. */
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
}

/** As kafkajs has it: how soon it looks again at requests that wait for others; milliseconds. */
const checkAfterMs = 10;

/**
 * kafkajs 2.2.4 sets a timer whenever it has looked for waiting requests, also when there are none,
 * with a negative delay, which is one of 1 ms: each connection wakes its process a thousand times a
 * second for nothing (its issues 1556, 1604, 1704, 1751). This sets a timer only when a request waits;
 * without one, the next request or answer looks by itself.
 */
export function stopIdleTimers(): void {
  const queue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js') as {
    prototype: RequestQueue;
  };
  if (typeof queue.prototype.scheduleCheckPendingRequests !== 'function') {
    throw new Error('kafkajs has another version: see whether stopIdleTimers is still needed.');
  }
  queue.prototype.scheduleCheckPendingRequests = function () {
    if (this.throttleCheckTimeoutId || this.pending.length === 0) return;
    const throttledMs = this.throttledUntil - Date.now();
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      throttledMs > 0 ? throttledMs : checkAfterMs,
    );
  };
}
