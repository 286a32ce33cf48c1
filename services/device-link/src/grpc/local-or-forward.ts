import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Peers } from '../calls/peers.ts';
import type { SessionDirectory } from '../ports.ts';
import type { SessionHub } from '../presence/hub.ts';
import type { Session } from '../session/session.ts';

/** Dependencies of the RPCs of DeliveryService. */
export interface DeliveryDeps {
  readonly hub: SessionHub;
  readonly directory: SessionDirectory;
  readonly peers: Peers;
  /** True if this is the only instance. */
  readonly isOnlyInstance: () => boolean;
}

/**
 * Where the session was found. `done`: on this instance, with the result of the call; `peer`: on the instance with this
 * address; 'away': there is no session.
 */
export type Reached<T> =
  | { readonly done: T }
  | { readonly peer: string; readonly sessionEpoch: number }
  | 'away';

/**
 * The headset of a call. `forwardedForEpoch`: for a forwarded call, the session epoch that the forwarding instance
 * read.
 */
export interface CallTarget {
  readonly deviceId: string;
  readonly forwardedForEpoch: number | undefined;
}

/**
 * Calls `work` with a headset's session if the session is on this instance and in the directory (rule B5). Otherwise
 * returns the address of the instance with the session, except for a forwarded call. Returns 'away' only if the next
 * session is reconciled after this call.
 */
export async function localOrForward<T>(
  deps: DeliveryDeps,
  { deviceId, forwardedForEpoch }: CallTarget,
  /** Returns undefined if the session has ended. */
  work: (session: Session) => T | undefined,
): Promise<Reached<T>> {
  const { hub, directory } = deps;
  if (deviceId === '') throw new DomainError('invalid_argument', 'device_id is missing.');
  const callHere = (isHolder: (session: Session) => boolean): Reached<T> => {
    const session = hub.get(deviceId);
    const done = session && isHolder(session) ? work(session) : undefined;
    return done === undefined ? 'away' : { done };
  };
  if (deps.isOnlyInstance()) {
    const reached = callHere(() => true);
    if (reached !== 'away') return reached;
  }
  if (forwardedForEpoch !== undefined) return callHere((session) => session.epoch >= forwardedForEpoch);
  const holder = await directory.holder(deviceId);
  if (!holder) return 'away';
  if (holder.instanceId === directory.instanceId) {
    // Calls a session that began during the read of the directory, but not a session older than the directory's.
    return callHere((session) => session.epoch >= holder.epoch);
  }
  // The other instance has a newer session, so a session of this instance is closed.
  if (hub.get(deviceId)) hub.closeBelow(deviceId, holder.epoch);
  return holder.address === '' ? 'away' : { peer: holder.address, sessionEpoch: holder.epoch };
}
