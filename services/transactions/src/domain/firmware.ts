import { isOlder } from '@headset-cloud/rules/version.ts';

/** A requested firmware update. Its transaction's state shows whether it is still unprocessed. */
export interface QueuedFirmware {
  /** The transaction's id. */
  readonly id: number;
  readonly version: string;
  readonly activationEpoch: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** Maximum number of updates that the device counters contain, so that the document stays bounded. */
const maxQueued = 100;

/**
 * Adds a firmware update to the queue. Returns the new queue, or the newer version if the update would be a downgrade
 * after an unprocessed update (rule A13). An equal version is no downgrade. `isUnprocessed` decides which earlier
 * updates stay in the queue.
 */
export function enqueueFirmware(
  queued: readonly QueuedFirmware[],
  requested: QueuedFirmware,
  isUnprocessed: (earlier: QueuedFirmware) => boolean,
): { readonly newer: string } | { readonly queued: readonly QueuedFirmware[] } {
  const waiting = queued.filter(isUnprocessed);
  const newer = waiting.reduce(
    (newest, { version }) => (isOlder(newest, version) ? version : newest),
    requested.version,
  );
  if (isOlder(requested.version, newer)) return { newer };
  return { queued: [...waiting, requested].slice(-maxQueued) };
}
