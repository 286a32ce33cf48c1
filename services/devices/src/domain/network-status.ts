/** Start or end of a session, as the cloud observes it. */
export interface SessionChange {
  readonly kind: 'online' | 'offline';
  /** Session epoch of the session that began or ended. Rises with each session. */
  readonly sessionEpoch: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

type SessionMoment = Pick<SessionChange, 'sessionEpoch' | 'atMs'>;

/** The newest start and the newest end of a session. Both are stored, so that changes may arrive in any order. */
export interface Presence {
  readonly online?: SessionMoment;
  readonly offline?: SessionMoment;
}

export type NetworkStatusValue = 'connectivity_online' | 'connectivity_offline';

/** The network status of a headset (rule A21). A headset that never had a session is offline without a time. */
export function networkStatus({ online, offline }: Presence): { status: NetworkStatusValue; atMs?: number } {
  if (online && !(offline && offline.sessionEpoch >= online.sessionEpoch)) {
    return { status: 'connectivity_online', atMs: online.atMs };
  }
  if (!offline) return { status: 'connectivity_offline' };
  // The clocks of two instances may differ. The end of a session is never before its start.
  return { status: 'connectivity_offline', atMs: Math.max(offline.atMs, online?.atMs ?? 0) };
}

/**
 * Applies a change to a headset's presence, and returns whether the network status changes. An old or repeated change
 * has no effect.
 */
export function changePresence(
  before: Presence,
  { kind, sessionEpoch, atMs }: SessionChange,
): { readonly presence: Presence; readonly changed: boolean } {
  if ((before[kind]?.sessionEpoch ?? 0) >= sessionEpoch) return { presence: before, changed: false };
  const presence = { ...before, [kind]: { sessionEpoch, atMs } };
  return { presence, changed: networkStatus(before).status !== networkStatus(presence).status };
}
