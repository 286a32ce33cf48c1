import { DomainError } from '@headset-cloud/kit/errors.ts';
import type { Client } from '@headset-cloud/kit/rpc/types.ts';
import type { DeliveryService } from '@headset-cloud/proto/headset/device_link/v1/delivery_pb.ts';
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

/**
 * Does something with a headset's session, wherever it is: here; at the instance that holds it
 * (unless the call was forwarded already); or nowhere, when the headset is away. Throws
 * `unavailable` or `deadline_exceeded` when the holder does not answer: it may have done it or not.
 */
export async function localOrForward<T>(
  deps: DeliveryDeps,
  request: { readonly deviceId: string; readonly forwarded: boolean },
  does: {
    /** Undefined: the session is over. */
    readonly here: (session: Session) => T | undefined;
    readonly there: (peer: Client<typeof DeliveryService>) => Promise<T>;
    readonly away: T;
  },
): Promise<T> {
  if (request.deviceId === '') throw new DomainError('invalid_argument', 'device_id is missing.');
  const here = (): T | undefined => {
    const session = deps.hub.get(request.deviceId);
    return session && does.here(session);
  };
  const done = here();
  if (done !== undefined) return done;
  if (request.forwarded) return does.away;
  const holder = await deps.directory.holder(request.deviceId);
  // It may have come here while the store was asked.
  if (!holder || holder.instanceId === deps.instanceId) return here() ?? does.away;
  if (holder.address === '') return does.away;
  return does.there(deps.peers.at(holder.address));
}
