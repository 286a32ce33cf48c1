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
  readonly alone: () => boolean;
}

/** Result of a call on this instance's session; or the instance with the session; or 'away' without a session. */
export type Reached<T> =
  | { readonly done: T }
  | { readonly peer: string; readonly sessionEpoch: number }
  | 'away';

/** A headset; for a forwarded call, also the session epoch that the other instance read. */
export interface Wanted {
  readonly deviceId: string;
  readonly forwardedForEpoch: number | undefined;
}

/**
 * Calls `does` with a headset's session if the session is on this instance and in the directory (rule B5). Otherwise
 * returns the address of the instance with the session, except for a forwarded call. Returns 'away' only if the next
 * session is reconciled after this call.
 */
export async function localOrForward<T>(
  deps: DeliveryDeps,
  { deviceId, forwardedForEpoch }: Wanted,
  /** Returns undefined if the session has ended. */
  does: (session: Session) => T | undefined,
): Promise<Reached<T>> {
  const { hub, directory } = deps;
  if (deviceId === '') throw new DomainError('invalid_argument', 'device_id is missing.');
  const here = (isHolder: (session: Session) => boolean): Reached<T> => {
    const session = hub.get(deviceId);
    const done = session && isHolder(session) ? does(session) : undefined;
    return done === undefined ? 'away' : { done };
  };
  if (deps.alone()) {
    const reached = here(() => true);
    if (reached !== 'away') return reached;
  }
  if (forwardedForEpoch !== undefined) return here((session) => session.epoch >= forwardedForEpoch);
  const holder = await directory.holder(deviceId);
  if (!holder) return 'away';
  if (holder.instanceId === directory.instanceId) {
    // The session may have begun here during the read. An older session is not the holder any more.
    return here((session) => session.epoch >= holder.epoch);
  }
  // A session on this instance is superseded, although the other instance has not reported this yet.
  if (hub.get(deviceId)) hub.closeBelow(deviceId, holder.epoch);
  return holder.address === '' ? 'away' : { peer: holder.address, sessionEpoch: holder.epoch };
}
