import { isOlder } from '@headset-cloud/kit/version.ts';

/** A firmware update that was asked for; its transaction says whether it is unprocessed still. */
export interface QueuedFirmware {
  /** The transaction's id. */
  readonly id: number;
  readonly version: string;
  readonly activationEpoch: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** How many a device's head remembers; more than that wait only where somebody asks without end. */
const mostQueued = 100;

/**
 * Whether a firmware update would go behind one that is unprocessed (rule A13), and what is queued with
 * it. An equal version is no downgrade. `waits` says of an earlier one whether it counts still.
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
