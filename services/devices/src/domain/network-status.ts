/** Start or end of a session, as the cloud observes it. */
export interface SessionChange {
  readonly kind: 'online' | 'offline';
  /** Session epoch of the session that began, or of the newest session, which ended. Rises with each session. */
  readonly sessionEpoch: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

type SessionMoment = Pick<SessionChange, 'sessionEpoch' | 'atMs'>;

/** The newest change of each kind. Both are stored, so that the order of arrival does not matter. */
export interface Presence {
  readonly online?: SessionMoment;
  readonly offline?: SessionMoment;
}

export type NetworkWord = 'connectivity_online' | 'connectivity_offline';

/** The network status of a headset (rule A21). A headset that never had a session is offline without a time. */
export function networkStatus({ online, offline }: Presence): { word: NetworkWord; atMs?: number } {
  if (online && !(offline && offline.sessionEpoch >= online.sessionEpoch)) {
    return { word: 'connectivity_online', atMs: online.atMs };
  }
  if (!offline) return { word: 'connectivity_offline' };
  // Clocks of two instances may differ, but a session does not end before it began.
  return { word: 'connectivity_offline', atMs: Math.max(offline.atMs, online?.atMs ?? 0) };
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
  return { presence, changed: networkStatus(before).word !== networkStatus(presence).word };
}
