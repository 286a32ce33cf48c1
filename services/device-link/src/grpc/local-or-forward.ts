import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { SessionHub } from '../link/hub.ts';
import type { Peers } from '../link/peers.ts';
import type { Session } from '../link/session.ts';
import type { SessionDirectory } from '../ports.ts';

/** What the RPCs for the other services need. */
export interface DeliveryDeps {
  readonly hub: SessionHub;
  readonly directory: SessionDirectory;
  readonly peers: Peers;
  /** This is the only instance: its own sessions are all there are. */
  readonly alone: () => boolean;
}

/** Done with the session that is here; to be done by another instance; or there is no session. */
export type Reached<T> =
  | { readonly done: T }
  | { readonly peer: string; readonly sessionEpoch: number }
  | 'away';

/** A headset, and for a call that was forwarded the session that the other instance read of. */
export interface Wanted {
  readonly deviceId: string;
  readonly forwardedForEpoch: number | undefined;
}

/**
 * Does something with a headset's session if it is here and the directory names it (rule B5), or
 * says at which address the instance is that holds it (never for a call that was forwarded
 * already). 'away' is only said where the session that begins next is judged after this.
 */
export async function localOrForward<T>(
  deps: DeliveryDeps,
  { deviceId, forwardedForEpoch }: Wanted,
  /** Undefined: the session is over. */
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
    // It may have begun here while the store was asked. An older one is no holder any more.
    return here((session) => session.epoch >= holder.epoch);
  }
  // Whatever is here is over, although nobody has said so yet.
  if (hub.get(deviceId)) hub.closeBelow(deviceId, holder.epoch);
  return holder.address === '' ? 'away' : { peer: holder.address, sessionEpoch: holder.epoch };
}
