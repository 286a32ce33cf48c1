import { plausibleTime } from '@headset-cloud/runtime/outside-time.ts';

/**
 * Maximum lengths of texts from headsets, in characters (UTF-16 code units). Longer texts are cut (protocol
 * page, "Limits"). With these limits every callback fits into an event of the log, in any encoding.
 */
export const textBounds = {
  message: 1024,
  /** Text of an app for the integrator. */
  customData: 65_536,
  /** Names, aliases and addresses in lists. */
  name: 128,
} as const;

/** Maximum number of entries of a list of devices or networks. */
export const maxListEntries = 256;

/** Limits a value to the range from 0.0 to 1.0; NaN becomes 0. */
export function clampToUnit(value: number): number {
  return Number.isNaN(value) ? 0 : Math.min(1, Math.max(0, value));
}

/**
 * Time of an event by the headset's clock, at most the time of its arrival (rule A24); milliseconds since 1970.
 * A time before the start of the transaction is corrected in the callback (rule A20).
 */
export function happenedAt(occurredAtMs: number, receivedAtMs: number): number {
  return plausibleTime(occurredAtMs, { arrivedAtMs: receivedAtMs });
}
