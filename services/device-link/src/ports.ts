/** A registered session. */
export interface Registration {
  /** The new session's epoch: above every earlier one of the headset. */
  readonly epoch: number;
  /** Reports up to this id are durable; 0: unknown. */
  readonly ackedReportId: number;
  /** The instance with the previous session, if any. */
  readonly earlierInstanceId: string | undefined;
  /** The previous session was closed because the headset did not answer (rule B6). */
  readonly afterUnresponsive: boolean;
}

/** A process of this service. */
export interface Instance {
  readonly instanceId: string;
  /** Address for the other instances; empty if the instance advertises none. */
  readonly address: () => string;
}

/** The instance with a headset's session. */
export interface Holder {
  readonly epoch: number;
  readonly instanceId: string;
  /** Address of the instance; empty if the instance advertises none. */
  readonly address: string;
}

/** An ended session. */
export interface EndedSession {
  readonly deviceId: string;
  readonly epoch: number;
  readonly ackedReportId: number;
  /** The session was closed because the headset did not answer. */
  readonly unresponsive: boolean;
}

/**
 * Which instance holds which headset (rule C6). Instances hold leases; a session counts only
 * while its instance's lease lives, so nothing needs to be undone when an instance dies.
 */
export interface SessionDirectory {
  /** Names this instance. */
  readonly instanceId: string;
  /** Makes this instance the holder; the newest registration wins. */
  register(deviceId: string): Promise<Registration>;
  /** Releases sessions, except for sessions that a newer one has replaced. */
  release(sessions: readonly EndedSession[]): Promise<void>;
  /**
   * Returns the live holder of a headset's session. This instance counts as alive, even without a valid lease.
   * Look-ups of one event loop iteration are one query.
   */
  holder(deviceId: string): Promise<Holder | undefined>;
  /** Returns the live holders by device id, with one query. */
  holders(deviceIds: readonly string[]): Promise<Map<string, Holder>>;
  /** Returns the address of a live instance; undefined if the instance is not alive. */
  addressOf(instanceId: string): Promise<string | undefined>;
}

/** An ended session whose end is not published. */
export interface UnreportedEnd {
  readonly deviceId: string;
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly endedAtMs: number;
}

/**
 * Sessions that have ended and are not reported (rule A21), in the session directory's documents. Each belongs to an
 * instance, which counts how long the headset has been without a session. Every change is conditional.
 */
export interface EndedSessions {
  /** The instances that hold sessions or count for ended ones, dead or alive. */
  owners(): Promise<string[]>;
  /**
   * This instance counts for the sessions of a dead one from `sinceMs` on, by its monotonic clock; those that were
   * open ended at `endedAtMs`. Returns the number of these.
   */
  takeOver(owner: string, from: { readonly sinceMs: number; readonly endedAtMs: number }): Promise<number>;
  /** This instance counts from `nowMs` on for sessions that ended on an instance of release 0.1.0. */
  takeOverUnowned(nowMs: number): Promise<void>;
  /** Sessions of an owner for which it has counted from `beforeMs` or earlier. */
  endedBefore(owner: string, beforeMs: number, limit: number): Promise<UnreportedEnd[]>;
  /** Records that these ends were published. */
  reported(ends: readonly UnreportedEnd[]): Promise<void>;
}

/**
 * The instances' leases (rule C6). An instance is alive while its beat counter rises, as the reading instance sees
 * the counter on a monotonic clock, because wall clocks may be wrong or jump.
 */
export interface Leases {
  /**
   * Extends this instance's lease, and reads the other leases. `lapsed`: the lease had expired before this beat was
   * stored. A beat that was sent in time may be stored too late.
   */
  renew(): Promise<{ readonly lapsed: boolean }>;
  /** Ends this instance's lease at once. */
  end(): Promise<void>;
  /** False after the lease has expired: other instances ignore this instance's sessions. */
  alive(): boolean;
  /** Since when the lease has been unbroken, by the monotonic clock; infinite after the lease has expired. */
  unbrokenSinceMs(): number;
  /** Those of the instances that are alive, with their addresses; this instance always counts as alive. */
  live(ids: ReadonlySet<string>): Promise<Map<string, string>>;
  /** Beats of the other stored instances, alive or dead, that advertise the address. */
  othersAt(address: string): Promise<Map<string, number>>;
  /** Removes the leases of dead instances, whose sessions then count no more. */
  remove(ids: readonly string[]): Promise<void>;
}
