import { networkStatus } from './network-status.ts';
import { presenceOf, type Reported, readableSince } from './reported.ts';

/** Required values of a device's status; an absent field matches every value. */
export interface StatusFilter {
  /** Milliseconds since 1970. A device with an unknown activation time does not match. */
  readonly activatedSinceMs?: number;
  readonly network?: string;
  /** Percent. A device that has not reported its battery does not match. */
  readonly batteryBelow?: number;
  /** Compared as text. */
  readonly clientVersion?: string;
}

/** The data of a device that filters read. */
export interface Filterable {
  readonly activation?: { readonly sinceEpoch: number; readonly sinceMs?: number };
  readonly reported: Reported;
}

/** The client version that an application may read (rule A7); undefined if it was not reported under its activation. */
export function readableClient({ activation, reported }: Filterable): string | undefined {
  if (!activation) return undefined;
  return readableSince(reported, activation.sinceEpoch).introduction?.clientVersion || undefined;
}

/**
 * True if the device matches. Uses only values that the application may read, so that a filter reveals no more than the
 * status (rule A7).
 */
export function matches(device: Filterable, filter: StatusFilter): boolean {
  const { activatedSinceMs, network, batteryBelow, clientVersion } = filter;
  const { activation, reported } = device;
  if (!activation) return false;
  if (activatedSinceMs !== undefined && (activation.sinceMs ?? -1) < activatedSinceMs) return false;
  if (network !== undefined && networkStatus(presenceOf(reported)).status !== network) return false;
  if (batteryBelow !== undefined) {
    const battery = readableSince(reported, activation.sinceEpoch).battery?.value;
    if (battery === undefined || battery >= batteryBelow) return false;
  }
  return clientVersion === undefined || readableClient(device) === clientVersion;
}
