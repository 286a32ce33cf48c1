import { isOlder } from '@headset-cloud/rules/version.ts';

/** A requested firmware update; its transaction says whether it is still unprocessed. */
export interface QueuedFirmware {
  /** The transaction's id. */
  readonly id: number;
  readonly version: string;
  readonly activationEpoch: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** How many updates a device's head remembers; only endless requests would make more wait. */
const mostQueued = 100;

/**
 * Decides whether a firmware update would be a downgrade behind an unprocessed one (rule A13), and returns
 * the queue with it. An equal version is no downgrade. `waits` says whether an earlier update still counts.
 */
export function judgeFirmware(
  queued: readonly QueuedFirmware[],
  asked: QueuedFirmware,
  waits: (earlier: QueuedFirmware) => boolean,
): { readonly newer: string } | { readonly queued: readonly QueuedFirmware[] } {
  const waiting = queued.filter(waits);
  const newer = waiting.reduce(
    (newest, { version }) => (isOlder(newest, version) ? version : newest),
    asked.version,
  );
  if (isOlder(asked.version, newer)) return { newer };
  return { queued: [...waiting, asked].slice(-mostQueued) };
}
