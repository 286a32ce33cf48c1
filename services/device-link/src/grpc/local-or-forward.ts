import { DomainError } from '@headset-cloud/kit/errors.ts';
import type { SessionHub } from '../link/hub.ts';
import type { Peers } from '../link/peers.ts';
import type { Session } from '../link/session.ts';
import type { SessionDirectory } from '../ports.ts';

/** What the RPCs for the other services need. */
export interface DeliveryDeps {
  readonly hub: SessionHub;
  readonly directory: SessionDirectory;
  readonly peers: Peers;
  readonly instanceId: string;
}

/** Done with the session that is here; to be done by another instance; or there is no session. */
export type Reached<T> = { readonly done: T } | { readonly peer: string } | 'away';

/**
 * Does something with a headset's session if it is here, or says at which address the instance is
 * that holds it (never for a call that was forwarded already).
 */
export async function localOrForward<T>(
  deps: DeliveryDeps,
  request: { readonly deviceId: string; readonly forwarded: boolean },
  /** Undefined: the session is over. */
  does: (session: Session) => T | undefined,
): Promise<Reached<T>> {
  if (request.deviceId === '') throw new DomainError('invalid_argument', 'device_id is missing.');
  const here = (): { done: T } | undefined => {
    const session = deps.hub.get(request.deviceId);
    const done = session && does(session);
    return done === undefined ? undefined : { done };
  };
  const done = here();
  if (done) return done;
  if (request.forwarded) return 'away';
  const holder = await deps.directory.holder(request.deviceId);
  // It may have come here while the store was asked.
  if (!holder || holder.instanceId === deps.instanceId) return here() ?? 'away';
  return holder.address === '' ? 'away' : { peer: holder.address };
}
