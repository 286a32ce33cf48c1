import { networkStatus } from './network-status.ts';
import { presenceOf, type Reported, readableSince } from './reported.ts';

/** What a device's status has to be; absent: anything. */
export interface StatusFilter {
  /** Milliseconds since 1970; a device whose activation's time is not known does not match. */
  readonly activatedSinceMs?: number;
  readonly network?: string;
  /** Percent; a device that has not reported it does not match. */
  readonly batteryBelow?: number;
  /** Compared as text. */
  readonly clientVersion?: string;
}

/** What is filtered. */
export interface Filterable {
  readonly activation?: { readonly sinceEpoch: number; readonly sinceMs?: number };
  readonly reported: Reported;
}

/** The client version that an application may read (rule A7); undefined: not reported under its activation. */
export function readableClient({ activation, reported }: Filterable): string | undefined {
  if (!activation) return undefined;
  return readableSince(reported, activation.sinceEpoch).introduction?.clientVersion || undefined;
}

/** Judges by what the application may read, so that a filter tells no more than the status does (rule A7). Pure. */
export function matches(device: Filterable, filter: StatusFilter): boolean {
  const { activatedSinceMs, network, batteryBelow, clientVersion } = filter;
  const { activation, reported } = device;
  if (!activation) return false;
  if (activatedSinceMs !== undefined && (activation.sinceMs ?? -1) < activatedSinceMs) return false;
  if (network !== undefined && networkStatus(presenceOf(reported)).word !== network) return false;
  if (batteryBelow !== undefined) {
    const battery = readableSince(reported, activation.sinceEpoch).battery?.value;
    if (battery === undefined || battery >= batteryBelow) return false;
  }
  return clientVersion === undefined || readableClient(device) === clientVersion;
}
