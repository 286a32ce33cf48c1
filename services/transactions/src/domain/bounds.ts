import { plausibleTime } from '@headset-cloud/runtime/outside-time.ts';

/**
 * Limits of texts from headsets, so that every callback fits into an event of the log however it is
 * encoded; characters (UTF-16 code units). Longer texts are cut (protocol page, "Limits").
 */
export const textBounds = {
  message: 1024,
  /** An app's own text for the integrator. */
  customData: 65_536,
  /** Names, aliases and addresses in lists. */
  name: 128,
} as const;

/** Entries of a list of devices or networks. */
export const maxListEntries = 256;

/** A share from 0.0 to 1.0; a value that is not a number counts as 0. */
export function share(value: number): number {
  return Number.isNaN(value) ? 0 : Math.min(1, Math.max(0, value));
}

/**
 * When something happened by a headset's clock, but not after its arrival (rule A24). Callbacks raise a time that
 * is before the start of its transaction (rule A20). Milliseconds since 1970.
 */
export function happenedAt(occurredAtMs: number, receivedAtMs: number): number {
  return plausibleTime(occurredAtMs, { arrivedAtMs: receivedAtMs });
}
