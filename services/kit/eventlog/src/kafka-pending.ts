import { createRequire } from 'node:module';

/** kafkajs' queue of one connection's requests; only the fields used here. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  /** Milliseconds since 1970; -1 while the broker does not throttle. */
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
}

/** kafkajs' own interval for checking waiting requests again; milliseconds. */
const checkAfterMs = 10;

/**
 * kafkajs 2.2.4 sets a timer after each check for waiting requests, even when there are none. The delay is
 * negative, which Node turns into 1 ms, so each connection wakes its process a thousand times a second for
 * nothing (kafkajs issues 1556, 1604, 1704, 1751). This replacement sets a timer only when a request waits;
 * the next request or answer runs the check anyway.
 */
export function stopIdleTimers(): void {
  const queue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js') as {
    prototype: RequestQueue;
  };
  if (typeof queue.prototype.scheduleCheckPendingRequests !== 'function') {
    throw new Error('kafkajs has another version: check whether stopIdleTimers is still needed.');
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
